// SPDX-License-Identifier: MIT

package results

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"
)

// made is a path of three interfaces, of which the middle one loses packets.
func madeAlong() *AlongPath {
	hop := func(name string, n uint64) PathHop {
		return PathHop{Name: name, RxPackets: &n, TxPackets: &n, RxBytes: &n, TxBytes: &n}
	}
	step := func(from, to int, lost int64, told ...PathLoss) PathStep {
		return PathStep{From: from, To: to, Left: "tx", Came: "rx", Sent: new(uint64(100)),
			Arrived: new(uint64(100 - lost)), Skew: new(uint64(0)),
			Lost: &lost, LostLeast: &lost, LostMost: &lost, UntoldLeast: new(int64(0)), UntoldMost: new(int64(0)),
			Told: told}
	}
	return &AlongPath{Seconds: 1, Interfaces: []PathHop{hop("tg:eth0", 100), hop("br0", 90), hop("sut:eth0", 90)},
		Between: []PathStep{step(1, 2, 0), step(2, 3, 10, PathLoss{"br0 qdisc drops", "qdisc drops", 10})},
		Ends:    []PathEnd{{Hop: 1, Way: "tx", Told: []PathLoss{{"tg:eth0 tx_dropped", "tx_dropped", 3}}}}}
}

// Each of its figures is a row of metrics.csv, by the interfaces' numbers, and is documented.
func TestAlongRows(t *testing.T) {
	got := map[string]float64{}
	for _, m := range (&Host{Path: madeAlong()}).Rows() {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
		got[m.Name] = m.Value
	}
	for name, want := range map[string]float64{"path_1_rx_packets": 100, "path_3_tx_bytes": 90,
		"path_1_to_2_lost_packets": 0, "path_2_to_3_lost_least_packets": 10,
		"path_2_to_3_told_qdisc_drops_packets": 10, "path_1_tx_told_tx_dropped_packets": 3,
		"path_2_to_3_sent_packets": 100} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s: %v, want %v", name, v, want)
		}
	}
	p := madeAlong()
	s := &p.Between[1]
	s.Sent, s.Arrived, s.Skew, s.Lost, s.LostLeast, s.LostMost, s.UntoldLeast, s.UntoldMost, s.Told = nil, nil, nil,
		nil, nil, nil, nil, nil, nil
	for _, m := range p.rows() {
		if strings.HasPrefix(m.Named(), "path_2_to_3") {
			t.Errorf("a counter was reset, and %s is told", m.Named())
		}
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// What is no path's is refused.
func TestAlongCheck(t *testing.T) {
	for name, spoil := range map[string]func(*AlongPath){
		"no interfaces": func(p *AlongPath) { p.Interfaces = nil },
		"from nowhere":  func(p *AlongPath) { p.Between[0].From = 0 },
		"to nowhere":    func(p *AlongPath) { p.Between[1].To = 4 },
		"no counter":    func(p *AlongPath) { p.Between[0].Left = "\x1b" },
		"half":          func(p *AlongPath) { p.Between[0].Lost = nil },
		"half, too":     func(p *AlongPath) { p.Between[0].Sent = nil },
		"no end":        func(p *AlongPath) { p.Ends[0].Hop = -1 },
		"too many": func(p *AlongPath) {
			for range 20 {
				p.Between[0].Told = append(p.Between[0].Told, PathLoss{})
			}
		},
	} {
		p := madeAlong()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if spoil(p); p.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if (*AlongPath)(nil).Check() != nil {
		t.Error("none is refused")
	}
}
