package labtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// Layouts runs zcbench with a receive mode once with softirq and data path on one
// CPU and once on two: every byte arrives, none of it copied, and the flow's
// packets were processed on the CPU that the layout names.
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
			share := slices.IndexFunc(h.Metrics, func(m results.Metric) bool { return m.Name == "placement_flow_share" })
			if h.Env.Placement == "" || share < 0 || h.Metrics[share].Value < 0.95 {
				t.Errorf("placed by %q, metric %d of %d says where the flow's packets were processed", h.Env.Placement, share, len(h.Metrics))
			}
		})
	}
}

// measured is a run that went as it should. A machine that emulates may read the
// window's edges late: the flow was good all the same.
func measured(t *testing.T, rx, layout string) results.Record {
	cmd := exec.Command("zcbench", "run", "--sut", "netns:"+RXNS, "--tg", "netns:"+TXNS, "--rx", rx, "--tx", "tcp", "--layout", layout,
		"--touch", "verify", "--duration", "1s", "--ramp-up", "1s", "--ramp-down", "500ms", "--sample-interval", "0", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var r results.Record
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		t.Fatalf("%v: %v\n%s%s", err, jerr, out, &stderr)
	}
	if late := r.Verdict == results.Invalid && strings.Contains(r.Reason, "its edges"); r.Verdict != results.OK && !late {
		t.Fatalf("%s: %s\n%s", r.Verdict, r.Reason, &stderr)
	}
	return r
}
