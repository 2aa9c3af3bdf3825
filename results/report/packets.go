// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed packets.html.tmpl
var packetsText string

// packetHead is the table of cells that move packets: what counts is how many, not their bytes.
var packetHead = []heading{
	{"RX mode", "", "<"},
	{"TX mode", "", "<"},
	{"kpps", "median", ">"},
	{"95 % interval", "kpps", ">"},
	{"sent", "kpps", ">"},
	{"lost", "%", ">"},
	{"busy", "SUT", ">"},
	{"busy", "TG", ">"},
	{"ns/pkt", "SUT", ">"},
	{"1/rate", "ns", ">"},
	{"verdict", "", "<"},
}

// byKind parts cells that move a stream from those that move packets.
func byKind(cells []Cell) (streams, packets []Cell) {
	for i := range cells {
		if cells[i].Cell.MovesPackets() {
			packets = append(packets, cells[i])
		} else {
			streams = append(streams, cells[i])
		}
	}
	return streams, packets
}

func packetRow(c *Cell) []string {
	v := verdict(c)
	if len(c.Stops) > 0 {
		v += " " + cites(c.Stops)
	}
	return []string{
		plaintext.Line(c.Cell.RX), plaintext.Line(c.Cell.TX),
		median(c.SUT.PacketsPerS, kilo), interval(c.SUT.PacketsPerS, kilo), median(c.TG.PacketsPerS, kilo),
		lost(c.SUT.LostShare),
		median(c.SUT.BusyCores, fixed2), median(c.TG.BusyCores, fixed2), median(c.SUT.NsPerPacket, digits3), rateNs(c),
		v,
	}
}

// rateNs formats the time between two packets, and why that is not what one costs.
func rateNs(c *Cell) string {
	s := median(c.SUT.RateNs, digits3)
	if c.Slack != "" {
		s += " " + string(c.Slack)
	}
	return s
}

func kilo(v float64) string { return digits3(v / 1e3) }

// lost shows a share so that a little is never rounded to nothing.
func lost(s *stat.Summary) string {
	switch {
	case s == nil:
		return none
	case s.Median == 0:
		return "0"
	case s.Median < 1e-4:
		return "<0.01"
	}
	return strconv.FormatFloat(100*s.Median, 'f', 2, 64)
}

// packetLegend explains the figures of packets, where a cell has some.
func packetLegend(s *Summary) string {
	if !slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Cell.MovesPackets() }) {
		return ""
	}
	early := ""
	if slices.ContainsFunc(s.Cells, moreThanSent) {
		early = "More received than sent: with what was on its way when the window began. "
	}
	return " kpps = thousands of packets a second, datagrams or frames, received intact. lost = of those sent, " +
		"over the whole flow. " + early +
		"ns/pkt = busy CPU time of the SUT per packet. " +
		"1/rate = time between two packets; it is not what one costs where what received had time left (idle), " +
		"shared its CPU (shared), or waited for the sender (sender)."
}

// moreThanSent reports whether a cell received more in its window than the sender sent in its own.
func moreThanSent(c Cell) bool {
	return c.Cell.MovesPackets() && c.SUT.PacketsPerS != nil && c.TG.PacketsPerS != nil &&
		c.SUT.PacketsPerS.Median > c.TG.PacketsPerS.Median
}

// packetView is a row of the page's table of packets.
type packetView struct {
	Number          int
	RX, TX, Setting string
	Figures         []string
}

func newPacketView(c *Cell, r rowView) packetView {
	return packetView{r.Number, r.RX, r.TX, r.Setting, []string{median(c.SUT.PacketsPerS, kilo),
		interval(c.SUT.PacketsPerS, kilo),
		median(c.TG.PacketsPerS, kilo), lost(c.SUT.LostShare), median(c.SUT.NsPerPacket, digits3),
		interval(c.SUT.NsPerPacket, digits3), rateNs(c)}}
}
