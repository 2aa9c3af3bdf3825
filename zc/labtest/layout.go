// SPDX-License-Identifier: MIT

package labtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// Layouts runs zcbench with a receive mode once with softirq and data path on two
// CPUs, and in the long run once on one: every byte arrives, none of it copied, and the flow's
// packets were processed on the CPU that the layout names.
func Layouts(t *testing.T, rx string) {
	Need(t)
	for _, layout := range []string{"2cpu", "1cpu"}[:long.Rounds(1, 2)] {
		t.Run(layout, func(t *testing.T) {
			args := []string{"--layout", layout}
			if layout == "1cpu" {
				args = append(args, "--message-size", "64M") // as it comes, see attempt
			}
			h := measured(t, rx, args...).SUT
			if h.Mismatches == nil || *h.Mismatches != 0 || h.ZeroCopyBytes == nil || *h.ZeroCopyBytes == 0 ||
				h.CopiedBytes == nil || *h.CopiedBytes != 0 {
				t.Errorf("mismatches %v, %v bytes without a copy, %v copied", h.Mismatches, h.ZeroCopyBytes,
					h.CopiedBytes)
			}
			share := slices.IndexFunc(h.Metrics,
				func(m measure.Metric) bool { return m.Name == "placement_flow_share" })
			if h.Env.Placement == "" || share < 0 || h.Metrics[share].Value < 0.95 {
				t.Errorf("placed by %q, metric %d of %d says where the flow's packets were processed", h.Env.Placement,
					share, len(h.Metrics))
			}
		})
	}
}

// paceMbps leaves an emulated machine the time to read its counters when it should: at full
// speed its CPUs have none left, and windows' edges come half a second late.
const paceMbps = 80

// measured makes a run, which must be OK.
func measured(t *testing.T, rx string, args ...string) results.Record {
	t.Helper()
	r, _ := program(t, rx, "", append([]string{"--pace", strconv.Itoa(paceMbps) + "M"}, args...)...)
	if r.Verdict != results.OK {
		t.Fatalf("%s: %s", r.Verdict, r.Reason)
	}
	return r
}

// program makes one zcbench run whose window was read in time, and returns its record and exit
// status.
//
// A run that came too late, or in whose window hardly a packet came, or none of one flow of several
// (it waits for a retransmission, whose timer has doubled), has measured nothing and says so: it
// gets more time, see [inTime]. Any other verdict is the first one, and so is one that says why as
// well and saw copies: what is wrong with the flow is seen in any window with payload, so a short
// one is tried first. Of others most come too late.
func program(t *testing.T, rx, why string, args ...string) (r results.Record, status int) {
	t.Helper()
	told := func(r results.Record) bool {
		return why != "" && strings.Contains(r.Reason, why) && r.SUT.CopiedBytes != nil && *r.SUT.CopiedBytes > 0
	}
	if why != "" {
		if r, status = once(t, rx, firstUnit, args...); told(r) || !isLate(r) {
			return r, status
		}
	}
	return inTime(t, rx, told, args...)
}

// How long opening a flow takes, and how late a window's edges are read, depends on what else
// the machine that emulates does. So it is tried, and what was late once need not be tried again.
const firstUnit = 200 * time.Millisecond

var (
	moreUnits = []time.Duration{2 * firstUnit, 4 * firstUnit, 8 * firstUnit, 8 * firstUnit, 32 * firstUnit}
	lateUnits = 0 // so many of moreUnits were too short for a run of this process
)

// inTime makes runs until one's window was read in time, or one is enough all the same. The last
// try stands: if it is late, too, the test that wanted another fails.
func inTime(t *testing.T, rx string, enough func(results.Record) bool, args ...string) (r results.Record, status int) {
	t.Helper()
	for n := lateUnits; n < len(moreUnits); n++ {
		if r, status = once(t, rx, moreUnits[n], args...); !isLate(r) || enough(r) {
			break
		}
		if strings.Contains(r.Reason, "its edges") { // else it is no matter of the machine
			lateUnits = min(n+1, len(moreUnits)-2) // there is always a second try
		}
	}
	return r, status
}

// isLate reports whether a run says that it has measured nothing, see [program].
func isLate(r results.Record) bool {
	return strings.Contains(r.Reason, "its edges") || strings.Contains(r.Reason, "too few packets to tell") ||
		strings.Contains(r.Reason, "no payload was transferred in the window, while other flows moved")
}

// once makes one run, of 18 units, and checks that the device is as it was afterwards.
func once(t *testing.T, rx string, unit time.Duration, args ...string) (r results.Record, status int) {
	t.Helper()
	before := DeviceState(t)
	r, status = attempt(t, rx, unit, args...)
	asBefore(t, before)
	return r, status
}

// asBefore complains of a device whose state was another before.
func asBefore(t *testing.T, before string) {
	t.Helper()
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// attempt makes one run, of 18 units.
//
// The NIC is a thread of the kernel, foreign load to who measures; program makes runs again. The
// buffers are small: what is in them at the end of the window has to come through first, at the few
// MB/s of a busy machine that emulates. So is the message: to fill the 64 MiB of the default costs
// such a machine a third of all else.
func attempt(t *testing.T, rx string, unit time.Duration, args ...string) (r results.Record, status int) {
	t.Helper()
	flags := []string{"run", "--sut", "netns:" + RXNS, "--tg", "netns:" + TXNS, "--rx", rx, "--tx", "tcp",
		"--touch", "verify", "--ramp-up", (8 * unit).String(), "--duration", (8 * unit).String(), "--ramp-down",
		(2 * unit).String(),
		"--stall", "1m", "--sample-interval", "0", "--sndbuf", "256K", "--rcvbuf", "1M", "--json", "--gate",
		"foreign_cores=off", "--gate", "replace=0"}
	if !slices.ContainsFunc(args, func(a string) bool { // requests have no message
		m, err := modes.Find(stream.TX, a)
		return err == nil && m.Has(stream.RoundTrips)
	}) {
		flags = append(flags, "--message-size", "2M")
	}
	cmd := exec.Command("zcbench", append(flags, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		t.Fatalf("%v: %v\n%s%s", err, jerr, out, &stderr)
	}
	t.Logf("%s %q, ramp-up %v: %s %s", rx, args, 8*unit, r.Verdict, r.Reason)
	return r, cmd.ProcessState.ExitCode()
}
