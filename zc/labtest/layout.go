package labtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// Layouts runs zcbench with a receive mode once with softirq and data path on one
// CPU and once on two: every byte arrives, none of it copied, and the flow's
// packets were processed on the CPU that the layout names. The program's own
// gates say the last two.
func Layouts(t *testing.T, rx string) {
	Need(t)
	for _, layout := range []string{"1cpu", "2cpu"} {
		t.Run(layout, func(t *testing.T) {
			before := DeviceState(t)
			r := measured(t, rx, layout)
			if after := DeviceState(t); after != before {
				t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
			}
			h := r.SUT
			if h.Mismatches == nil || *h.Mismatches != 0 || h.ZeroCopyBytes == nil || *h.ZeroCopyBytes == 0 || h.CopiedBytes == nil || *h.CopiedBytes != 0 {
				t.Errorf("mismatches %v, %v bytes without a copy, %v copied", h.Mismatches, h.ZeroCopyBytes, h.CopiedBytes)
			}
			if h.Env.Placement == "" {
				t.Error("nothing on record of how the softirq was placed")
			}
		})
	}
}

// measured is a run whose window was read in time, which a busy machine that
// emulates may not manage at first.
func measured(t *testing.T, rx, layout string) results.Record {
	for try := 1; ; try++ {
		cmd := exec.Command("zcbench", "run", "--sut", "netns:"+RXNS, "--tg", "netns:"+TXNS, "--rx", rx, "--tx", "tcp", "--layout", layout,
			"--touch", "verify", "--duration", "500ms", "--ramp-up", "100ms", "--ramp-down", "200ms", "--sample-interval", "0", "--json")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var r results.Record
		if jerr := json.Unmarshal(out, &r); jerr != nil {
			t.Fatalf("%v: %v\n%s%s", err, jerr, out, &stderr)
		}
		if r.Verdict == results.OK {
			return r
		}
		if late := r.Verdict == results.Invalid && strings.Contains(r.Reason, "its edges"); !late || try == 3 {
			t.Fatalf("%s: %s\n%s", r.Verdict, r.Reason, &stderr)
		}
		t.Logf("again: %s", r.Reason)
	}
}
