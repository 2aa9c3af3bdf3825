// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
)

const four = `name: four
sut: {host: "netns:a", dev: eth1}
tg: {host: "netns:b"}
touch: read
rx_buffer: hot
gro: true
factors:
  rx: [tcp, uring, zcrx, devmem]
  tx: [tcp]
`

func mlx5() *world {
	return &world{truth: func(*plan.Cell) float64 { return 20 }, driver: "mlx5_core", queues: 3, facts: []survey.Fact{
		{Name: "nic/ring rx", Value: "1024"}, {Name: "nic/ring rx most", Value: "8192"},
		{Name: "nic/feature rx-gro", Value: "on"}, {Name: "nic/feature rx-gro-hw", Value: "off"},
		{Name: "nic/header split", Value: "tcp-data-split off, hds-thresh 0"},
		{Name: "nic/gro-max-size", Value: "65536"},
		{Name: "nic/coalescing rx-usecs", Value: "8"}, {Name: "nic/coalescing adaptive-rx", Value: "1"}}}
}

// Without factors of a file each mode has what concerns it and the host can set, but for what the
// file says. What cannot be is told.
func TestUsual(t *testing.T) {
	w := mlx5()
	w.missing = func(c *plan.Cell) *bench.Missing {
		if c.CPULayout == "2cpu" {
			return &bench.Missing{Reason: "one CPU", Fix: "two"}
		}
		return nil
	}
	s, _ := searchOf(t, "throughput", four, 30*time.Minute)
	if err := s.Begin(w.found()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"tcp/tcp": "rx_ring: 256, 8192; hw_gro: true; header_split: true; big_tcp: 196608; set: " +
			"sut:coalesce adaptive-rx=0; sut:coalesce rx-usecs=8, sut:coalesce adaptive-rx=0; sut:coalesce " +
			"rx-usecs=64; " +
			"cpu_layout: 1cpu; busy_poll: 50; message: 65536, 1048576; read: 65536, 1048576; gather: 50",
		"devmem/tcp": "token_batch: 64, 1024; rx_buf_len: 16384, 131072; area: ",
	}
	for _, e := range s.entries {
		var words []string
		for _, f := range e.Factors {
			words = append(words, f.Option+": "+strings.Join(f.Levels[1:], ", "))
			if f.Levels[0] != "" {
				t.Errorf("%s %s: the first level is %q", e.Name, f.Option, f.Levels[0])
			}
		}
		if got := strings.Join(words, "; "); !strings.Contains(got, want[e.Name]) || strings.Contains(got, "; gro: ") ||
			e.Name == "tcp/tcp" && strings.Contains(got, "area") {
			t.Errorf("%s: %s", e.Name, got)
		}
		told := fmt.Sprint(e.Cannot)
		if !strings.Contains(told, "cpu_layout=2cpu one CPU two") {
			t.Errorf("%s: %s", e.Name, told)
		}
		takes := e.Name == "zcrx/tcp" || e.Name == "devmem/tcp"
		if split := e.Base.HeaderSplit != nil; split == takes || takes != (e.together == 3) ||
			takes != (e.Base.HWGRO != nil) {
			t.Errorf("%s: %d together, %+v", e.Name, e.together, e.Base)
		}
	}
	plain := &world{truth: w.truth, driver: "veth"}
	s, _ = searchOf(t, "throughput", four, 30*time.Minute)
	if err := s.Begin(plain.found()); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"rx_ring eth1 (veth) does not tell", "set eth1 (veth) does not tell",
		"header_split eth1 (veth) does not tell"} {
		if told := fmt.Sprint(s.entries[0].Cannot); !strings.Contains(told, word) {
			t.Errorf("veth: %s, want %s", told, word)
		}
	}
}

// Of too many combinations those that race have the defaults, every level, and groups in which
// several can be compared.
func TestDraw(t *testing.T) {
	s, _ := searchOf(t, "throughput", four, 30*time.Minute)
	if err := s.Begin(mlx5().found()); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.entries {
		f := e.Space.field(e.most, 1, s.can(e))
		if n := e.count(); n < 1000 || f.First < 40 || f.First > e.most || len(f.Arms) < 2*f.First {
			t.Fatalf("%s: %d of %d combinations, at most %d", e.Name, f.First, n, e.most)
		}
		if slices.ContainsFunc(f.Arms[0], func(level int) bool { return level > 0 }) || f.Default != 0 {
			t.Errorf("%s: the defaults are not the first", e.Name)
		}
		f.Arms = f.Arms[:f.First]
		groups := map[int]int{}
		for _, arm := range f.Arms {
			c := s.cell(e, arm)
			groups[s.group(e, &c)]++
		}
		for k := range f.Factors {
			for level := range f.Factors[k].Levels {
				if !slices.ContainsFunc(f.Arms, func(arm []int) bool { return arm[k] == level }) {
					t.Errorf("%s: no arm has %s=%s", e.Name, f.Factors[k].Name, f.Factors[k].Levels[level])
				}
			}
		}
		if per := float64(len(f.Arms)) / float64(len(groups)); per < 2.5 {
			t.Errorf("%s: %d arms in %d groups", e.Name, len(f.Arms), len(groups))
		}
	}
}
