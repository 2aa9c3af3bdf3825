// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// A NIC with interrupts is placed by them, and RPS, where it sends packets away
// from there, is switched off; one without is placed by RPS.
func TestWanted(t *testing.T) {
	queues := []nic.Queue{{ID: 0}, {ID: 1}}
	steers := func(name string) bool { return name == "rps 1" }
	want := func(name, value string) lease.Want { return lease.Want{Dev: "eth0", Name: name, Value: value} }
	for _, x := range []struct {
		cpu  int
		irqs []int
		by   string
		out  []lease.Want
	}{
		{3, []int{24, 25, 26}, "irq", []lease.Want{want("interrupt 24", "3"), want("interrupt 25", "3"), want("interrupt 26", "3"), want("rps 1", "0")}},
		{37, nil, "rps", []lease.Want{want("rps 0", "20,00000000"), want("rps 1", "20,00000000")}},
	} {
		by, out := wanted("eth0", x.cpu, x.irqs, queues, steers)
		if d := cmp.Diff(x.out, out); by != x.by || d != "" {
			t.Errorf("by %s: -want +got\n%s", by, d)
		}
	}
}

// inPair does f where a veth interface is, with leases of its own.
func inPair(t *testing.T, f func(dev string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	if err := pair.SUT.Netns.Do(func() error { f(pair.SUT.Dev); return nil }); err != nil {
		t.Fatal(err)
	}
}

// In a namespace, the interfaces of which /sys does not show.
func TestIntegrationSoftirqInNetns(t *testing.T) {
	inPair(t, func(dev string) {
		before := rps(t, dev, "")
		p, err := Softirq(dev, 0)
		if err != nil {
			t.Error(err)
			return
		}
		if now := rps(t, dev, ""); p.By != "rps" || now != "1" || p.Check() != nil {
			t.Errorf("%s: RPS %s, %v", p, now, p.Check())
		}
		if kept := journals(t); len(kept) != 1 {
			t.Errorf("journals %q: a kill would leave it set", kept)
		}
		if err := p.Undo(); err != nil {
			t.Error(err)
		}
		if now := rps(t, dev, ""); now != before {
			t.Errorf("RPS is %s, was %s", now, before)
		}
		if kept := journals(t); len(kept) != 0 {
			t.Errorf("left %q", kept)
		}
		if _, err := Softirq("no0", 0); err == nil || fault.Fix(err) == "" {
			t.Errorf("no such interface: %v", err)
		}
		if _, err := Softirq(dev, 8191); err == nil || fault.Fix(err) == "" || rps(t, dev, "") != before {
			t.Errorf("no such CPU: %v", err)
		}
	})
}

// What somebody else sets is noticed, and is not ours to restore.
func TestIntegrationMovedBySomebodyElse(t *testing.T) {
	inPair(t, func(dev string) {
		p, err := Softirq(dev, 0)
		if err != nil {
			t.Error(err)
			return
		}
		rps(t, dev, "0")
		err = p.Check()
		if m := (*lease.Moved)(nil); errors.As(err, &m) {
			t.Errorf("%v has no fix of ours", err)
		}
		if err == nil || !strings.Contains(err.Error(), "rps 0 of "+dev+" was set to 1 and is now 0") || !strings.Contains(fault.Fix(err), "irqbalance") {
			t.Errorf("%v", err)
		}
		rps(t, dev, "2")
		if err := p.Undo(); err == nil || !strings.Contains(err.Error(), "left at 2") || rps(t, dev, "") != "2" {
			t.Errorf("undo: %v; RPS %s", err, rps(t, dev, ""))
		}
	})
}

// rps reads, or with a value sets, the mask of the first queue.
func rps(t *testing.T, dev, set string) string {
	t.Helper()
	d, err := nic.Open(dev)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer d.Close()
	s, err := d.Setting("rps 0")
	if err == nil && set != "" {
		err = s.Set(set)
	}
	v, gerr := s.Get()
	if err = errors.Join(err, gerr); err != nil {
		t.Error(err)
	}
	return v
}

func journals(t *testing.T) []string {
	t.Helper()
	f, err := filepath.Glob(filepath.Join(os.Getenv(lease.DirEnv), "*.lease"))
	if err != nil {
		t.Error(err)
	}
	return f
}

func TestEvidence(t *testing.T) {
	for _, x := range []struct {
		name  string
		e     Evidence
		fault string
	}{
		{"right", Evidence{2, map[int]int{2: 100}, map[int]uint64{2: 5000, 0: 10}}, ""},
		{"nearly", Evidence{2, map[int]int{2: 96, 1: 4}, nil}, ""},
		{"elsewhere", Evidence{2, map[int]int{1: 70, 2: 30}, nil}, "ran on CPU 2 in 30 % of 100 looks only, and on CPUs 1-2 in all"},
		{"nowhere", Evidence{2, nil, nil}, "too few packets to tell"},
		{"few", Evidence{2, map[int]int{2: 9}, nil}, "9 looks"},
		{"contradicted", Evidence{2, map[int]int{2: 100}, map[int]uint64{1: 5000}}, "processed no packet"},
	} {
		if got := x.e.Fault(); !strings.Contains(got, x.fault) || x.fault == "" && got != "" {
			t.Errorf("%s: %q, want %q", x.name, got, x.fault)
		}
	}
}
