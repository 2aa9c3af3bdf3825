// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// packets is a run of 64-byte datagrams.
func packetsRun(sent, received, lost uint64) *Record {
	r := &Record{Schema: SchemaVersion, RunID: "r", Cell: plan.Cell{ID: "c", RX: "udp", TX: "udp"}, Verdict: OK}
	r.SUT = Host{DurationS: new(1.), ThroughputGbps: new(float64(received) * 64 * 8 / 1e9),
		PacketsPerS: new(float64(received)), CPUBusyCores: new(.5),
		Packets: &Packets{Sent: &sent, Received: &received, Lost: &lost, Corrupted: new(uint64(0))}}
	r.TG = Host{DurationS: new(1.), ThroughputGbps: new(float64(sent) * 64 * 8 / 1e9), PacketsPerS: new(float64(sent)),
		Packets: &Packets{Sent: &sent}}
	return r
}

// The rate and the cost of packets are columns, written and read back; a stream has neither.
func TestPacketColumns(t *testing.T) {
	r := packetsRun(1000, 900, 100)
	if got := r.SUT.NsPerPacket(); got == nil || math.Abs(*got-.5e9/900) > 1e-6 {
		t.Errorf("%v ns", got)
	}
	var b bytes.Buffer
	if err := WriteRuns(&b, []Record{*r}); err != nil {
		t.Fatal(err)
	}
	recs, err := ReadRuns(bytes.NewReader(b.Bytes()))
	if err != nil || recs[0].SUT.PacketsPerS == nil || *recs[0].SUT.PacketsPerS != 900 ||
		*recs[0].TG.PacketsPerS != 1000 {
		t.Fatalf("%+v, %v", recs, err)
	}
	rows := map[string]float64{}
	for _, m := range r.SUT.Rows() {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
		rows[m.Name] = m.Value
	}
	if rows["packets_sent"] != 1000 || rows["packets_lost"] != 100 || rows["packets_received"] != 900 {
		t.Errorf("%v", rows)
	}
	if h := (Host{CPUBusyCores: new(1.)}); h.NsPerPacket() != nil || h.Packets.LostShare() != nil ||
		h.Packets.rows() != nil || h.Packets.Check() != nil {
		t.Error("a stream has figures of packets")
	}
}

func TestPacketsCheck(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	for want, p := range map[string]*Packets{
		"":                            {Sent: n(10), Received: n(12), Lost: n(1), Duplicated: n(3), OutOfOrder: n(2)},
		"more packets lost than sent": {Sent: n(10), Lost: n(11)},
		"more packets out of order":   {Received: n(10), OutOfOrder: n(11)},
		"more packets out of order or duplicated than received": {Duplicated: n(1)},
		"a counter of lost packets":                             {Counted: []DropCounter{{Name: "x"}}},
		"101 counters of lost packets":                          {Counted: make([]DropCounter, 101)},
		"x counted 1e+300 packets": {
			Counted: []DropCounter{{Name: "x", Value: new(1e300)}}},
		"x counted 0.5 packets":       {Counted: []DropCounter{{Name: "x", Value: new(.5)}}},
		"x counted -1 packets":        {Counted: []DropCounter{{Name: "x", Value: new(-1.)}}},
		"129 packets in one":          {MostInOne: n(129)},
		"0 packets in one":            {MostInOne: n(0)},
		"9223372036854775808 packets": {Sent: n(1 << 63)},
	} {
		if err := p.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	r := packetsRun(10, 10, 0)
	r.SUT.Packets.Lost = n(11)
	if err := r.validate(); err == nil {
		t.Error("a record is taken that lost more than was sent")
	}
}

// What an account's rows say is read again.
func TestPacketsIn(t *testing.T) {
	p := &Packets{Sent: new(uint64(10)), Received: new(uint64(7)), Lost: new(uint64(3)), OutOfOrder: new(uint64(1)),
		Duplicated: new(uint64(0)), Corrupted: new(uint64(0)),
		Answers: new(uint64(7)), MostInOne: new(uint64(64)),
		Counted: []DropCounter{{Name: "udp_rcvbuf_errors", Source: "/proc/net/snmp", Value: new(3.)}}}
	if got := PacketsIn(append(p.rows(), measure.Metric{Name: "strangers"})); !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, want %+v", got, p)
	}
	if got := PacketsIn([]measure.Metric{{Name: "strangers", Value: 1}, {Name: "packets_sent", Value: -1},
		{Name: "packets_received", Value: math.NaN()}}); got != nil {
		t.Errorf("%+v", got)
	}
}
