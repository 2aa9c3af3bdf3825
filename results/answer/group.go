// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results/compare"
)

// work is what a cell moves, and in what pieces, where these make another work of it. Only cells of
// one work can be rivals.
type work struct {
	kind    stream.Kind
	flows   int
	message int // of packets

	onward    string // what is done with streams, whoever does it: "passed on", for example
	encrypted bool

	trips                     bool
	request, response, flight int // of round trips
}

// workOf returns the work of a cell.
func workOf(c *plan.Cell) work {
	w := work{flows: c.NFlows(), kind: kindOfFlow(c), trips: c.RoundTrips(), onward: onward(c),
		encrypted: records.How(c.TLS) != records.None}
	if w.kind.Packets() {
		w.message = cmp.Or(c.MessageBytes, stream.DefaultMessage(w.kind))
	}
	if w.trips {
		w.request, w.response, w.flight = cmp.Or(c.Request, stream.DefaultTrip(w.kind)),
			cmp.Or(c.Response, stream.DefaultTrip(w.kind)), max(c.InFlight, 1)
	}
	return w
}

// onward says what the receiving application does with payload; "": it keeps it.
func onward(c *plan.Cell) string {
	switch {
	case c.PassesOn():
		return "passed on"
	case c.WritesTo() != "":
		return "written to a file"
	}
	return ""
}

// kindOfFlow returns what a cell moves: bytes of a stream if its mode is not known.
func kindOfFlow(c *plan.Cell) stream.Kind {
	m, err := modes.Find(stream.RX, c.RX)
	if err != nil {
		return stream.Stream
	}
	return m.Kind
}

// rivals reports whether one of two cells can be better than the other: not if their work differs,
// nor if they are steps of a ladder, each of which does more than the one above.
func rivals(a, b *plan.Cell) bool {
	x, y := workOf(a), workOf(b)
	for _, w := range []*work{&x, &y} { // comparisons may be about these
		w.flows, w.onward, w.encrypted = 0, "", false
	}
	return x == y && (x.kind != stream.Frame || a.RX == b.RX && a.XDPAttach == b.XDPAttach &&
		a.XDPTouch == b.XDPTouch && a.XDPRedirect == b.XDPRedirect)
}

// Figures that are of packets, and of round trips.
var (
	ofPackets = []string{"packets_per_s", "ns_per_packet", "tg_ns_per_packet", "delivery_p50_us", "delivery_p99_us"}
	ofTrips   = []string{"transactions_per_s", "cpu_us_per_transaction", "tg_cpu_us_per_transaction", "rtt_p50_us",
		"rtt_p99_us", "rtt_p999_us"}
)

// fits reports whether a figure says how well a cell did its work: bytes are not what packets and
// round trips are about.
func fits(c *plan.Cell, figure string) bool {
	general := strings.HasSuffix(figure, "cpu_busy_cores") || strings.HasSuffix(figure, "power_w")
	switch {
	case c.RoundTrips():
		return general || slices.Contains(ofTrips, figure)
	case kindOfFlow(c).Packets():
		return general || slices.Contains(ofPackets, figure)
	}
	return !slices.Contains(ofTrips, figure) && !strings.Contains(figure, "packet")
}

// grouped reports whether a cell is in a group of [groupsOf]. Frames are in none: no step of a
// ladder leads. Nor are round trips at a rate, which is what they were told to do.
func grouped(c *plan.Cell) bool {
	return kindOfFlow(c) != stream.Frame && !(c.RoundTrips() && c.RRRate > 0)
}

// groupsOf groups cells by their work.
func groupsOf(cells []*compare.Cell) (groups [][]*compare.Cell) {
	at := map[work]int{}
	for _, c := range cells {
		if !grouped(&c.Cell) {
			continue
		}
		w := workOf(&c.Cell)
		i, ok := at[w]
		if !ok {
			i = len(groups)
			at[w] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// apart describes how the work of a group differs from that of others: "" and 0 if it does not.
func apart(groups [][]*compare.Cell, i int) (about string, flows int) {
	own := workOf(&groups[i][0].Cell)
	differs := func(of func(work) any) bool {
		return slices.ContainsFunc(groups, func(g []*compare.Cell) bool { return of(workOf(&g[0].Cell)) != of(own) })
	}
	if differs(func(w work) any { return w.flows }) {
		flows = own.flows
	}
	if differs(func(w work) any { w.flows = 0; return w }) {
		switch {
		case own.trips:
			about = fmt.Sprintf("%d-byte requests, %d-byte answers, %d in flight", own.request, own.response,
				own.flight)
		case own.kind.Packets():
			about = fmt.Sprintf("%s of %d bytes", own.kind, own.message)
		case own.onward != "":
			about = "streams " + own.onward
		case own.encrypted:
			about = "encrypted streams"
		default:
			about = "streams"
		}
	}
	return about, flows
}
