// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// mostPlaces is how many rows of drops a run has at most; the rest has one sum.
const mostPlaces = 64

// dropReading is what was dropped so far, and what the counters tell of it.
type dropReading struct {
	seen    bpf.DropReading
	counted ledger.Counters
}

// readDrops reads the counters on the side of the window on which they are not within it.
func readDrops(d *bpf.Drops) (r dropReading, err error) {
	var e1, e2 error
	r.seen, e1 = d.Read()
	r.counted, e2 = ledger.Read()
	return r, errors.Join(e1, e2)
}

// dataPort returns the receiver's data port, as either end knows it.
func dataPort(s wire.EndSpec, port stream.Listener) uint16 {
	if port != nil {
		if a, ok := port.Addr().(*net.TCPAddr); ok {
			return uint16(a.Port)
		}
	}
	a, err := netip.ParseAddrPort(s.Addr)
	if err != nil {
		return 0 // the flow's drops are not told from others
	}
	return a.Port()
}

// dropFigures computes the drops of a window, or of turns; port is the flow's.
func dropFigures(d *bpf.Drops, seen bpf.DropReading, counted []ledger.Counted, port uint16) (*results.Drops, string) {
	t, err := d.Named(seen)
	if err != nil {
		return nil, "drops without names: " + err.Error()
	}
	return dropTable(t, counted, port), t.Warning
}

// dropTable joins the rows of a reason and a function, and holds them against the counters.
func dropTable(t bpf.DropTable, counted []ledger.Counted, port uint16) *results.Drops {
	out := &results.Drops{Packets: new(float64(t.Packets())), Flow: new(0.0), Unnamed: new(float64(t.Unnamed)),
		NotLost: new(0.0), Missing: new(0.0)}
	if port == 0 { // the flow's are not told from others
		out.Flow = nil
	}
	if t.Warning != "" { // nor what was delivered from what was lost
		out.NotLost = nil
	}
	var seen []ledger.Drop
	at := map[string]int{}
	for _, d := range t.Drops {
		n := float64(d.Packets)
		if d.NotLost != "" {
			if out.NotLost != nil {
				*out.NotLost += n
			}
			continue
		}
		seen = append(seen, ledger.Drop{Reason: d.Reason, Function: d.Function, Packets: d.Packets, SKBs: d.SKBs})
		mine := port != 0 && d.Port == port
		if mine {
			*out.Flow += n
		}
		one := results.Drop{Reason: d.Reason, Function: d.Function, Packets: new(0.0), SKBs: new(0.0)}
		if port != 0 {
			one.Flow = new(0.0)
		}
		i, known := at[one.Key()]
		if !known {
			if len(out.Places) == mostPlaces {
				*out.Unnamed += n
				continue
			}
			i = len(out.Places)
			at[one.Key()] = i
			out.Places = append(out.Places, one)
		}
		p := &out.Places[i]
		*p.Packets += n
		*p.SKBs += float64(d.SKBs)
		if mine {
			*p.Flow += n
		}
		p.Where = addWord(addWord(p.Where, d.Place), d.Interface)
	}
	slices.SortStableFunc(out.Places, func(a, b results.Drop) int { return cmp.Compare(*b.Packets, *a.Packets) })
	l := ledger.Ledger{Counted: counted, Drops: seen, SuperPackets: true}
	for _, r := range (&l).Add().Rows {
		var skbs uint64
		for _, d := range r.Why {
			skbs += d.SKBs
		}
		*out.Missing += float64(r.Count - min(r.Count, skbs))
		out.Counted = append(out.Counted, results.DropCounter{Name: r.Name, Source: r.Source,
			Value: new(float64(r.Count))})
	}
	return out
}

// addWord adds one to a list with commas that does not have it.
func addWord(list, word string) string {
	switch {
	case word == "" || slices.Contains(strings.Split(list, ", "), word):
		return list
	case list == "":
		return word
	}
	return list + ", " + word
}
