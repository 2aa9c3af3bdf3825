// SPDX-License-Identifier: MIT

package results

import (
	"testing"

	"github.com/zcbench/zcbench/results/metrics"
)

// What is missing at the receiver is what was dropped on the way, at either end, or is told to be
// unknown; where the receiver's kernel cannot count segments nothing is said.
func TestBalanceSegments(t *testing.T) {
	type figures struct{ sent, again, received, txLeast, txMost, rxLeast, rxMost float64 }
	for _, x := range []struct {
		name               string
		f                  figures
		lost, named, left  float64
		unknown, doesClose bool
	}{
		{name: "nothing was lost", f: figures{sent: 1000, received: 1000}, doesClose: true},
		{name: "dropped at both ends", f: figures{1000, 60, 940, 20, 20, 40, 40}, lost: 60, named: 60, doesClose: true},
		{name: "some were not seen", f: figures{1000, 60, 940, 15, 30, 40, 40}, lost: 60, named: 60, doesClose: true},
		{name: "dropped between the hosts", f: figures{1000, 60, 940, 10, 10, 0, 0}, lost: 60, named: 10, left: 50},
		{name: "more were dropped than lost", f: figures{1000, 60, 940, 80, 90, 0, 0}, lost: 60, named: 80, left: -20},
		{name: "sent again for nothing", f: figures{1000, 60, 1000, 0, 0, 0, 0}, doesClose: true},
		{name: "one was under way", f: figures{1000, 61, 939, 20, 20, 40, 40}, lost: 61, named: 60, left: 1,
			doesClose: true},
		{name: "TCP was told at once, and none is sent again", f: figures{1000, 0, 970, 30, 30, 0, 0}, lost: 30,
			named: 30, doesClose: true},
		{name: "the receiver counts super-packets", f: figures{sent: 1000, received: 50}, doesClose: true},
		{name: "so, with losses", f: figures{1000, 60, 50, 60, 60, 0, 0}, unknown: true, doesClose: true},
		{name: "more came than was sent", f: figures{1000, 60, 1001, 0, 0, 0, 0}, unknown: true, doesClose: true},
	} {
		f := x.f
		tx := &DropSegments{Sent: &f.sent, Retransmitted: &f.again, NamedLeast: &f.txLeast, NamedMost: &f.txMost}
		rx := &DropSegments{Received: &f.received, NamedLeast: &f.rxLeast, NamedMost: &f.rxMost}
		closes := tx.Balance(rx, false)
		if closes != x.doesClose || (tx.Lost == nil) != x.unknown {
			t.Errorf("%s: closes %v, %+v", x.name, closes, tx)
			continue
		}
		if !x.unknown && (*tx.Lost != x.lost || *tx.Named != x.named || *tx.Unattributed != x.left) {
			t.Errorf("%s: %g lost, %g named, %g left; want %g, %g, %g", x.name, *tx.Lost, *tx.Named, *tx.Unattributed,
				x.lost, x.named, x.left)
		}
	}
	var none *DropSegments
	if some := (&DropSegments{}); !none.Balance(some, true) || !some.Balance(none, true) ||
		!some.Balance(some, true) || some.Lost != nil || none.rows("") != nil {
		t.Error("what nobody counted does not close")
	}
}

// What the receiver's backlog refused, its sender's veth counts once more: on one machine it
// explains no other loss. Between two machines it is not the same.
func TestBalanceCountedTwice(t *testing.T) {
	for _, x := range []struct {
		name                   string
		lost, refused, backlog float64
		oneMachine, closes     bool
	}{
		{"refused by the backlog", 40, 40, 40, true, true},
		{"and lost elsewhere", 80, 40, 40, true, false},
		{"of which some were not the backlog's", 80, 80, 40, true, true},
		{"the backlog refused others' besides", 40, 40, 90, true, true},
		{"between machines", 80, 40, 40, false, true},
	} {
		tx := &DropSegments{Sent: new(1000.0), Retransmitted: new(x.lost), NamedLeast: new(0.0),
			NamedMost: new(x.refused * 44), Refused: &x.refused, RefusedMost: new(x.refused * 44)}
		rx := &DropSegments{Received: new(1000 - x.lost), NamedLeast: new(min(x.backlog, 40)),
			NamedMost: new(min(x.backlog, 40)), Backlog: &x.backlog}
		if closes := tx.Balance(rx, x.oneMachine); closes != x.closes {
			t.Errorf("%s: closes %v: %g lost, %g named", x.name, closes, *tx.Lost, *tx.Named)
		}
	}
}

func TestSegmentRows(t *testing.T) {
	s := &DropSegments{Sent: new(1000.0), Retransmitted: new(60.0), NamedLeast: new(1.0), NamedMost: new(2.0),
		Lost: new(60.0), Named: new(58.0), Unattributed: new(2.0)}
	h := Host{Probes: &Probes{Drops: &Drops{Segments: s}}}
	got := map[string]float64{}
	for _, m := range h.Rows() {
		got[m.Name] = m.Value
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 5 || got["drop_segments_sent"] != 1000 || got["drop_segments_lost"] != 60 ||
		got["drop_segments_unattributed"] != 2 {
		t.Errorf("%v", got)
	}
}
