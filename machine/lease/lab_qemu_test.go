// SPDX-License-Identifier: MIT

package lease_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/results"
)

// qemuNIC is the NIC of QEMU's that the machine has.
func qemuNIC(t *testing.T) string {
	t.Helper()
	which := os.Getenv(guest.NICEnv)
	if which == "" {
		t.Skip(`needs a NIC of QEMU's: go test -exec "$PWD/bin/zcbench lab exec --nic qemu:virtio --" ./machine/lease`)
	}
	return which
}

// ofNIC is all that may be set of the ends' NICs, as it reads; what a driver does not have
// reads as its error.
func ofNIC(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range guest.Ends {
		inNS(t, e.NS, func() error {
			d, err := nic.Open(e.Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			irqs, err := d.IRQs()
			if err != nil {
				return err
			}
			names := []string{"mtu", "gso-max-size", "gro-max-size", "channels", "ring rx", "ring tx", "rss",
				"coalesce rx-usecs", "napi 0", "rps 0", "xps 0",
				"feature " + nic.FeatureGRO, "feature " + nic.FeatureHWGRO, "feature " + nic.FeatureTSO}
			for _, irq := range irqs {
				names = append(names, fmt.Sprintf("interrupt %d", irq))
			}
			for _, n := range names {
				s, err := d.Setting(n)
				if err != nil {
					return err
				}
				v, err := s.Get()
				if err != nil {
					v = err.Error()
				}
				all[e.Dev+" "+n] = v
			}
			return nil
		})
	}
	return all
}

// qemuFlags are those of a verified run of plain TCP of some length, which sets what the
// driver has.
func qemuFlags(t *testing.T, which string, unit time.Duration, layout string) []string {
	t.Helper()
	flags := []string{"run", "--sut", "netns:" + guest.NSReceiver, "--tg", "netns:" + guest.NSSender, "--rx", "tcp",
		"--tx", "tcp", "--touch", "verify",
		"--ramp-up", (8 * unit).String(), "--duration", (8 * unit).String(), "--ramp-down", (2 * unit).String(),
		"--stall", "1m", "--sample-interval", "0", "--message-size", "2M", "--sndbuf", "256K", "--rcvbuf", "1M",
		"--json", "--mtu", "1500", "--gro", "off", "--rx-ring", "512", "--layout", layout, "--gate",
		"foreign_cores=off", "--gate", "replace=0"}
	if which == "qemu:e1000e" {
		return append(flags, "--set", "sut:coalesce rx-usecs=100")
	}
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if c, err := d.Channels(); err == nil && strings.HasSuffix(c.String(), "combined 2") {
			flags = append(flags, "--channels", "1", "--hw-gro", "off")
		}
		return nil
	})
	return flags
}

// One run of plain TCP with a real driver, on one CPU and on two, verified to the last byte:
// its softirq is where the interrupts were put, and the NICs are as they were.
func TestLabQEMURun(t *testing.T) {
	which := qemuNIC(t)
	before := ofNIC(t)
	for _, layout := range []string{"1cpu", "2cpu"} {
		t.Run(layout, func(t *testing.T) {
			var r results.Record
			// A busy machine that emulates reads a window too late: it gets more time.
			for unit := 100 * time.Millisecond; ; unit *= 4 {
				r = qemuRun(t, qemuFlags(t, which, unit, layout))
				if late := strings.Contains(r.Reason, "its edges") ||
					strings.Contains(r.Reason, "too few packets to tell"); !late || unit > time.Second {
					break
				}
			}
			h := r.SUT
			if r.Verdict != results.OK || h.Mismatches == nil || *h.Mismatches != 0 || h.Bytes == nil || *h.Bytes == 0 {
				t.Errorf("%s: %s; %v bytes, %v not as they should be", r.Verdict, r.Reason, h.Bytes, h.Mismatches)
			}
			share := slices.IndexFunc(h.Metrics,
				func(m measure.Metric) bool { return m.Name == "placement_flow_share" })
			if !strings.HasPrefix(h.Env.Placement, "the interrupts of sn0 go to CPU") || share < 0 ||
				h.Metrics[share].Value < 0.95 {
				t.Errorf("placed by %q, metric %d of %d says where the flow's packets were processed", h.Env.Placement,
					share, len(h.Metrics))
			}
			if d := cmp.Diff(before, ofNIC(t)); d != "" {
				t.Errorf("the NICs are not as they were:\n%s", d)
			}
		})
	}
}

func qemuRun(t *testing.T, flags []string) (r results.Record) {
	t.Helper()
	cmd := exec.Command("zcbench", flags...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		t.Fatalf("%v: %v\n%s%s", err, jerr, out, &stderr)
	}
	t.Logf("%s %s", r.Verdict, r.Reason)
	return r
}

// Kill -9 in the middle of a run, when its settings are set: zcbench restore puts a real
// driver's back.
func TestLabQEMUKill(t *testing.T) {
	which := qemuNIC(t)
	before := ofNIC(t)
	flags := qemuFlags(t, which, 2*time.Second, "2cpu")
	left := 0
	for i := range long.Rounds(1, 8) {
		who := victims[i%len(victims)]
		killed := killWhenSet(t, flags, who, time.Duration(i)*200*time.Millisecond)
		if !cmp.Equal(before, ofNIC(t)) {
			left++
		}
		out, err := run(t, "restore")
		if err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if d := cmp.Diff(before, ofNIC(t)); d != "" {
			t.Errorf("killed %s, %d processes: the NICs are not as they were:\n%s\nrestore said: %s", who, killed, d,
				out)
		}
	}
	if left == 0 {
		t.Error("no kill left anything to restore: they test nothing")
	}
}

// killWhenSet starts a run and kills who of it some time after its MTU is set.
func killWhenSet(t *testing.T, flags []string, who string, after time.Duration) (killed int) {
	t.Helper()
	cmd := exec.Command("zcbench", flags...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	if !await.So(func() bool {
		mtu := ""
		inNS(t, guest.NSReceiver, func() error {
			l, err := rtnl.LinkNamed(guest.Ends[0].Dev)
			mtu = fmt.Sprint(l.MTU)
			return err
		})
		if mtu == "1500" {
			return true
		}
		await.Pause("the run has the CPU", 20*time.Millisecond)
		return false
	}) {
		t.Fatalf("nothing is set after %v: %s", await.Hang, said.String())
	}
	await.Pause("another moment each time", after)
	return kill(t, cmd.Process.Pid, counter.Children(cmd.Process.Pid), who, false, done, &said)
}
