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
// from there, is switched off; one without is placed by RPS. A queue that has a CPU is served
// there, and the others are spread over all.
func TestWanted(t *testing.T) {
	queues := []nic.Queue{{ID: 0}, {ID: 1}}
	steers := func(name string) bool { return name == "rps 1" }
	want := func(name, value string) lease.Want { return lease.Want{Dev: "eth0", Name: name, Value: value} }
	for _, x := range []struct {
		on   Want
		irqs []int
		by   string
		out  []lease.Want
	}{
		{On(3), []int{24, 25, 26}, "irq", []lease.Want{want("interrupt 24", "3"), want("interrupt 25", "3"),
			want("interrupt 26", "3"), want("rps 1", "0")}},
		{On(37), nil, "rps", []lease.Want{want("rps 0", "20,00000000"), want("rps 1", "20,00000000")}},
		{On(3, 1, 3), []int{24, 25, 26}, "irq", []lease.Want{want("interrupt 24", "1"), want("interrupt 25", "3"),
			want("interrupt 26", "1"), want("rps 1", "0")}},
		{Want{Queues: map[int]int{1: 2, 0: 4}}, []int{24, 25, 26, 27}, "irq",
			[]lease.Want{want("interrupt 24", "4"), want("interrupt 25", "2"), want("interrupt 26", "2"),
				want("interrupt 27", "4"), want("rps 1", "0")}},
		{Want{CPUs: []int{5}, Queues: map[int]int{1: 5}}, []int{26}, "irq", []lease.Want{want("interrupt 26", "5"),
			want("rps 1", "0")}},
		{On(0, 35), nil, "rps", []lease.Want{want("rps 0", "8,00000001"), want("rps 1", "8,00000001")}},
		{Want{CPUs: []int{1}, Queues: map[int]int{1: 2}}, nil, "rps", []lease.Want{want("rps 0", "6"),
			want("rps 1", "4")}},
	} {
		l := layout{dev: "eth0", cpus: x.on.all(), queues: x.on.Queues, irqOf: func(q int) (int, error) {
			return 24 + q,
				nil
		}, steers: steers}
		by, out, err := l.wanted(x.irqs, queues)
		if d := cmp.Diff(x.out, out); by != x.by || d != "" || err != nil {
			t.Errorf("%+v by %s: %v, -want +got\n%s", x.on, by, err, d)
		}
	}
}

// Two queues with one interrupt cannot be served on two CPUs, nor one queue; on one they can.
func TestSharedQueue(t *testing.T) {
	l := layout{dev: "eth0", cpus: []int{2, 3}, queues: map[int]int{0: 2, 5: 3},
		irqOf: func(int) (int, error) { return 24, nil }}
	_, _, err := l.wanted([]int{24, 25}, nil)
	if err == nil || !strings.Contains(err.Error(),
		"RX queues 0 and 5 share interrupt 24 but should be on CPUs 2 and 3") || fault.Fix(err) == "" {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	l.queues[5] = 2
	if _, out, err := l.wanted([]int{24, 25}, nil); err != nil || out[0].Value != "2" {
		t.Errorf("%v, %v", out, err)
	}
	untold := errors.New("not told")
	l.irqOf = func(int) (int, error) { return 0, untold }
	if _, _, err := l.wanted([]int{24, 25}, nil); !errors.Is(err, untold) {
		t.Errorf("an interrupt that is not told: %v", err)
	}
	one, two := 1, 2
	var w Want
	if err := errors.Join(w.Add(4, &one), w.Add(5, &two), w.Add(4, &one), w.Add(6, nil)); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(Want{[]int{4, 5, 4, 6}, map[int]int{1: 4, 2: 5}}, w); d != "" {
		t.Error(d)
	}
	if err := w.Add(5, &one); err == nil || !strings.Contains(err.Error(), "queue 1") || fault.Fix(err) == "" {
		t.Errorf("one queue on two CPUs: %v; fix: %s", err, fault.Fix(err))
	}
}

// What was done is told as before of one CPU, and of several with their queues.
func TestPlacementString(t *testing.T) {
	for want, p := range map[string]Placement{
		"the interrupts of eth0 go to CPU 3": {Dev: "eth0", CPUs: []int{3},
			Queues: map[int]int{1: 3}, By: "irq"},
		"RPS sends the packets of v0, which has no interrupts, to CPU 3": {Dev: "v0", CPUs: []int{3},
			By: "rps"},
		"the interrupts of eth0 go to CPUs 2-4: queue 6 to CPU 2, queue 7 to CPU 4": {Dev: "eth0", CPUs: []int{2, 3, 4},
			Queues: map[int]int{7: 4, 6: 2}, By: "irq"},
		"RPS sends the packets of v0, which has no interrupts, to CPUs 0,2": {Dev: "v0", CPUs: []int{0, 2},
			By: "rps"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	p, six, five := Placement{CPUs: []int{2, 4}, Queues: map[int]int{6: 2}}, 6, 5
	if d := cmp.Diff([][]int{{2}, {2, 4}, {2, 4}}, [][]int{p.CPUsOf(&six), p.CPUsOf(&five), p.CPUsOf(nil)}); d != "" {
		t.Error(d)
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
		p, err := Softirq(dev, On(0))
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
		if _, err := Softirq("no0", On(0)); err == nil || fault.Fix(err) == "" {
			t.Errorf("no such interface: %v", err)
		}
		if _, err := Softirq(dev, On(8191)); err == nil || fault.Fix(err) == "" || rps(t, dev, "") != before {
			t.Errorf("no such CPU: %v", err)
		}
	})
}

// What somebody else sets is noticed, and is not ours to restore.
func TestIntegrationMovedBySomebodyElse(t *testing.T) {
	inPair(t, func(dev string) {
		p, err := Softirq(dev, On(0))
		if err != nil {
			t.Error(err)
			return
		}
		rps(t, dev, "0")
		err = p.Check()
		if m := (*lease.Moved)(nil); errors.As(err, &m) {
			t.Errorf("%v has no fix of ours", err)
		}
		if err == nil || !strings.Contains(err.Error(), "rps 0 of "+dev+" was set to 1 but is now 0") ||
			!strings.Contains(fault.Fix(err), "irqbalance") {
			t.Errorf("%v", err)
		}
		rps(t, dev, "2")
		if err := p.Undo(); err == nil || !strings.Contains(err.Error(), "left at 2") || rps(t, dev, "") != "2" {
			t.Errorf("undo: %v; RPS %s", err, rps(t, dev, ""))
		}
	})
}

// The CPU that a softirq ran on is the one that nearly all looks named, whatever was asked for.
func TestRan(t *testing.T) {
	for name, x := range map[string]struct {
		e    Evidence
		want int // -1: not known
	}{
		"one of them":       {Evidence{CPUs: []int{0, 2}, Looks: map[int]int{2: 100}}, 2},
		"nearly":            {Evidence{CPUs: []int{0, 2}, Looks: map[int]int{2: 95, 0: 5}}, 2},
		"not quite":         {Evidence{CPUs: []int{0, 2}, Looks: map[int]int{2: 94, 0: 6}}, -1},
		"another":           {Evidence{CPUs: []int{0}, Looks: map[int]int{2: 100}}, 2},
		"few looks, one":    {Evidence{CPUs: []int{0}, Looks: map[int]int{2: 9}}, 0},
		"few looks, of two": {Evidence{CPUs: []int{0, 2}, Looks: map[int]int{2: 9}}, -1},
		"no looks":          {Evidence{CPUs: []int{0, 2}}, -1},
	} {
		if cpu, ok := x.e.Ran(); ok != (x.want >= 0) || ok && cpu != x.want {
			t.Errorf("%s: CPU %d (%v), want %d", name, cpu, ok, x.want)
		}
	}
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
		{"right", Evidence{[]int{2}, map[int]int{2: 100}, map[int]uint64{2: 5000, 0: 10}}, ""},
		{"nearly", Evidence{[]int{2}, map[int]int{2: 96, 1: 4}, nil}, ""},
		{"elsewhere", Evidence{[]int{2}, map[int]int{1: 70, 2: 30}, nil},
			"ran on CPU 2 in only 30 % of 100 samples, and on CPUs 1-2 in all"},
		{"nowhere", Evidence{[]int{2}, nil, nil}, "too few packets to tell"},
		{"few", Evidence{[]int{2}, map[int]int{2: 9}, nil}, "9 samples"},
		{"any of them", Evidence{[]int{0, 2}, map[int]int{0: 50, 2: 50}, map[int]uint64{0: 5000}}, ""},
		{"none of them", Evidence{[]int{0, 2}, map[int]int{1: 90, 2: 10}, nil},
			"ran on CPUs 0,2 in only 10 % of 100 samples, and on CPUs 1-2 in all"},
		{"contradicted", Evidence{[]int{2}, map[int]int{2: 100}, map[int]uint64{1: 5000}}, "processed no packet"},
	} {
		if got := x.e.Fault(); !strings.Contains(got, x.fault) || x.fault == "" && got != "" {
			t.Errorf("%s: %q, want %q", x.name, got, x.fault)
		}
	}
	e := Evidence{[]int{0, 2}, map[int]int{0: 50, 1: 25, 2: 25}, map[int]uint64{0: 5, 1: 10, 2: 5}}
	flow, ok := e.FlowShare()
	if host, counted := e.HostShare(); flow != .75 || host != .5 || !ok || !counted {
		t.Errorf("shares %v %v, %v %v", flow, ok, host, counted)
	}
}
