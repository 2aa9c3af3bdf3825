// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

func TestFold(t *testing.T) {
	in := []string{"netstat_ip_in_discards", "qstats_rx3_drops", "qstats_rx0_drops", "qstats_rx1_drops",
		"qstats_rx1_drops", "qstats_rx12_drops", "softnet_cpu4_dropped",
		"ethtool_rx_65_to_127_bytes", "ethtool_rx_007", "ethtool_q12345678901_x", "ethtool_0", "ethtool_1"}
	want := []string{"ethtool_[0-1]", "ethtool_q12345678901_x", "ethtool_rx_007", "ethtool_rx_65_to_127_bytes",
		"netstat_ip_in_discards", "qstats_rx[0-1,3,12]_drops", "softnet_cpu4_dropped"}
	got := Fold(in)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	all, others := newNameSet(), newNameSet()
	for _, name := range in {
		all.add(name)
	}
	for _, name := range []string{"qstats_rx2_drops", "qstats_tx3_drops", "ethtool_2", "netstat_ip"} {
		others.add(name)
	}
	var back []string
	for _, f := range got {
		if err := CheckFolded(f); err != nil {
			t.Error(err)
		}
		if names := others.among(nil, f); len(names) > 0 {
			t.Errorf("%s has %v", f, names)
		}
		back = all.among(back, f)
	}
	slices.Sort(in)
	slices.Sort(back)
	if d := cmp.Diff(slices.Compact(in), back); d != "" {
		t.Errorf("(-in +back):\n%s", d)
	}
	for _, bad := range []string{"", "a b", "a\x1b", "A", "a[0", "a[0]b[1]", "a[]", "a[0-]", "a[1-2-]",
		strings.Repeat("a", 201), "é"} {
		if CheckFolded(bad) == nil {
			t.Errorf("%q is a name", bad)
		}
		_ = all.among(nil, bad)
	}
}

// Numbers in brackets are not written out: they may be all there are.
func TestFoldedBomb(t *testing.T) {
	s := newNameSet()
	s.add("rx5_drops")
	bomb := "rx[0-999999999" + strings.Repeat(",0-999999999", 1000) + "]_drops"
	if got := s.among(nil, bomb); len(got) != 1 || got[0] != "rx5_drops" {
		t.Errorf("%d names", len(got))
	}
}

func FuzzFold(f *testing.F) {
	f.Add("rx0_a rx1_a rx2_b x 00 rx[3]")
	f.Fuzz(func(t *testing.T, text string) {
		names := strings.Fields(text)
		for _, name := range names {
			if isPlain(name) && !folded().MatchString(name) {
				t.Errorf("%q is no name", name)
			}
			if strings.ContainsAny(name, "[]") {
				return // no metric is called so
			}
		}
		s := newNameSet()
		for _, name := range names {
			s.add(name)
		}
		var back []string
		for _, x := range Fold(names) {
			back = s.among(back, x)
		}
		slices.Sort(names)
		slices.Sort(back)
		if d := cmp.Diff(slices.Compact(names), back); len(names) > 0 && d != "" {
			t.Error(d)
		}
	})
}

// What did not move in a run, and moved in another, is a row of 0 there; what moved in none has
// no row, and neither has what was not read.
func TestWriteMetricsIdle(t *testing.T) {
	host := func(idle string, ms ...measure.Metric) Host { return Host{Metrics: ms, Idle: strings.Fields(idle)} }
	run := func(n int, sut Host) Record {
		return Record{RunID: fmt.Sprint("r", n), SUT: sut, Verdict: OK, Cell: plan.Cell{ID: "c", RX: "tcp", TX: "tcp"}}
	}
	drops := measure.Metric{Name: "qstats_rx3_hw_drops", Unit: "packets", Value: 10,
		Source: "netdev qstats-get"}.Over(5, 1000)
	level := measure.Metric{Name: "sockstat_tcp_tw", Unit: "1", Value: 7, Source: "/proc/net/sockstat"}
	recs := []Record{
		run(0, host("netstat_never_moved", drops, level)),
		run(1, host("netstat_never_moved qstats_rx[0-7]_hw_drops sockstat_tcp_tw")),
		run(2, host("qstats_rx[0-2]_hw_drops")), // and queue 3 was not there
	}
	var b strings.Builder
	if err := writeMetrics(&b, recs); err != nil {
		t.Fatal(err)
	}
	want := `run_id,host,metric,unit,value,source,quality,per_second,per_packet
r0,#sut,qstats_rx3_hw_drops,packets,10,netdev qstats-get,,2,0.01
r0,#sut,sockstat_tcp_tw,1,7,/proc/net/sockstat,,,
r1,#sut,qstats_rx3_hw_drops,packets,0,netdev qstats-get,,0,0
r1,#sut,sockstat_tcp_tw,1,0,/proc/net/sockstat,,,
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
