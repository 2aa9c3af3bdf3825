// SPDX-License-Identifier: MIT

package nic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixture reads a file of testdata/interrupts: virtio and e1000e as the lab's kernels print
// them, the others as the drivers' sources say.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/interrupts", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseInterrupts(t *testing.T) {
	for name, want := range map[string]map[int]ProcIRQ{
		"e1000e": {
			4:  {[]string{"ttyS0"}, map[int]uint64{0: 0, 1: 2}},
			26: {[]string{"sn0-rx-0"}, map[int]uint64{0: 3, 1: 0}},
			27: {[]string{"sn0-tx-0"}, map[int]uint64{0: 0, 1: 6}},
			28: {[]string{"sn0"}, map[int]uint64{0: 1, 1: 0}},
			29: {[]string{"sn1-rx-0"}, map[int]uint64{0: 0, 1: 4}},
		},
		"hns3": {
			64: {[]string{"hclge-misc-0000:bd:00.0"}, map[int]uint64{0: 42, 1: 0}},
			65: {[]string{"hns3-0000:bd:00.0-TxRx-0"}, map[int]uint64{0: 1042, 1: 0}},
			66: {[]string{"hns3-0000:bd:00.0-TxRx-2"}, map[int]uint64{0: 0, 1: 2042}},
			67: {nil, map[int]uint64{0: 0, 1: 0}},
			68: {[]string{"arch_timer"}, map[int]uint64{0: 5, 1: 0}},
		},
		"r8169": {35: {[]string{"eth0"}, map[int]uint64{0: 1042, 2: 3}}},
		"intx": {
			10: {[]string{"virtio1"}, map[int]uint64{0: 1042, 1: 3}},
			11: {[]string{"uhci_hcd:usb1", "eth0"}, map[int]uint64{0: 777, 1: 0}},
		},
	} {
		got, err := parseInterrupts(fixture(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
	if got, err := parseInterrupts(fixture(t, "i40e")); err != nil || got[16].Actions != nil ||
		got[105].Counts[3] != 712345 {
		t.Errorf("i40e: %+v, %v", got, err)
	}
	for _, bad := range []string{"            CPUx\n  1: 2  x  y\n", "     CPU0  CPU1\n  7:   1\n",
		"CPU0\n 7: -1  c  a\n"} {
		if got, err := parseInterrupts([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// This machine's own file is one of those that can be read.
func TestReadInterrupts(t *testing.T) {
	all, err := ReadInterrupts()
	if err != nil || len(all) == 0 {
		t.Errorf("%d interrupts, %v", len(all), err)
	}
}

func FuzzParseInterrupts(f *testing.F) {
	files, err := filepath.Glob("testdata/interrupts/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, p := range files {
		f.Add(fixture(f, strings.TrimSuffix(filepath.Base(p), ".txt")), "eth0", "0000:3b:00.0")
	}
	f.Fuzz(func(t *testing.T, b []byte, dev, bus string) {
		all, err := parseInterrupts(b)
		if err != nil {
			return
		}
		var cpus int
		for irq, x := range all {
			if cpus == 0 {
				cpus = len(x.Counts)
			}
			if irq < 0 || len(x.Counts) != cpus {
				t.Errorf("interrupt %d: counts of %d CPUs, not %d", irq, len(x.Counts), cpus)
			}
			for _, a := range x.Actions {
				if a == "" || strings.ContainsAny(a, "\n") {
					t.Errorf("interrupt %d: action %q", irq, a)
				}
				r := roleOf(a, owner{dev: dev, bus: bus, others: []string{dev + "1"}})
				if r.queue >= 0 && !r.rx && !r.tx || r.others && (r.rx || r.tx) || r.ours && !strings.Contains(a, dev) {
					t.Errorf("%q of %q: %+v", a, dev, r)
				}
			}
		}
		f := function{owner: owner{dev: dev, bus: bus}}
		for irq := range all {
			f.irqs = append(f.irqs, irq)
		}
		slices.Sort(f.irqs)
		queues, err := f.queues(all)
		if (err == nil) != (len(queues) > 0) {
			t.Errorf("%d queues, %v", len(queues), err)
		}
		for q := range len(queues) {
			if irq, ok := ofQueue(queues, q, len(queues)); ok && !slices.Contains(f.irqs, irq) {
				t.Errorf("queue %d has interrupt %d", q, irq)
			}
		}
	})
}
