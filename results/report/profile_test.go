// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// profiledRuns are runs whose SUT had 60 to 65 ns/kB of copy, 40 of tcp, and in one of them 1 of
// gro.
func profiledRuns() results.Journal {
	j := demo()
	n := 0
	part := func(name string, ns float64) results.ProfiledPart {
		return results.ProfiledPart{Name: name, Where: "thread", Class: name, SelfPerKB: new(ns),
			TotalPerKB: new(2 * ns), SelfPerPacket: new(10 * ns), SelfPerWire: new(ns / 2)}
	}
	for i := range j.Records {
		r := &j.Records[i]
		if r.Verdict != results.OK || r.Warmup || r.Cell.ID != j.Records[0].Cell.ID {
			continue
		}
		copied := 60 + float64(n%6)
		p := &results.Profiled{Event: "cpu-clock", WirePackets: new(100.0), WireSource: "TCP_INFO",
			Busy: part("", copied+40), Classes: []results.ProfiledPart{part("copy", copied), part("tcp", 40)},
			Functions: []results.ProfiledPart{part("_copy_to_iter", copied), part("tcp_v4_rcv", 40)}}
		if n == 0 {
			p.Classes = append(p.Classes, part("gro", 1))
		}
		r.SUT.Probes = &results.Probes{Profile: p}
		n++
	}
	return j
}

// Medians with intervals over the runs; a class that a run did not meet was 0 there.
func TestProfiles(t *testing.T) {
	s := Summarize(profiledRuns())
	var p *profile
	for i := range s.Cells {
		if x := profileIn(&s.Cells[i].SUT); x != nil {
			p = x
		}
	}
	if p == nil || len(p.Classes) != 3 {
		t.Fatalf("%+v", p)
	}
	runs := p.Busy.N
	if c := p.Classes[0]; c.Name != "copy" || c.PerKB.N != runs || c.PerKB.Median < 60 || c.PerKB.Median > 65 {
		t.Errorf("%+v", c)
	}
	if c := p.Classes[2]; c.Name != "gro" || c.PerKB.N != runs || c.PerKB.Max != 1 || runs > 2 && c.PerKB.Median != 0 {
		t.Errorf("%+v", c)
	}
	if f := p.Functions[1]; f.Name != "tcp_v4_rcv" || f.TotalKB.Median != 80 || f.PerPacket.Median != 400 ||
		f.PerWire.Median != 20 {
		t.Errorf("%+v", f)
	}
	lacking := profiledRuns() // of one run nobody counted packets of the wire: there is no figure, and no 0
	for i := range lacking.Records {
		if p := lacking.Records[i].SUT.Probes; p != nil && p.Profile != nil {
			p.Profile.WirePackets = nil
			break
		}
	}
	for _, c := range Summarize(lacking).Cells {
		if x := profileIn(&c.SUT); x != nil && x.Functions[1].PerWire != nil {
			t.Errorf("not measured, and yet %+v", x.Functions[1].PerWire)
		}
	}
	text := table(t, s)
	page := render(t, func(b *bytes.Buffer) error { return writePage(b, s) })
	for _, want := range []string{"copy", "tcp_v4_rcv", "wire packet"} {
		if !bytes.Contains(text, []byte(want)) || !bytes.Contains(page, []byte(want)) {
			t.Errorf("%s is not shown", want)
		}
	}
	// What was added last stands last: columns that are cut out by number stay where they were.
	row := regexp.MustCompile(`(?m)^ *tcp_v4_rcv .*$`).FindString(string(text))
	if f := strings.Fields(row); len(f) < 4 || !slices.Equal(f[len(f)-4:], []string{"80.0", "thread", "tcp_v4_rcv",
		"20.0"}) {
		t.Errorf("%q", row)
	}
	if !bytes.Contains(page,
		[]byte(`<th>where</th><th>class</th><th class="n">alone<small>ns/wire packet</small></th></tr>`)) ||
		!bytes.Contains(
			page, []byte(`<td class="n">thread</td><td class="n">tcp_v4_rcv</td><td class="n">20.0</td></tr>`)) {
		t.Error("the page's time per packet of the wire is not the last column")
	}
	s.Top = 1
	if top := table(t, s); !bytes.Contains(top, []byte("_copy_to_iter")) || bytes.Contains(top, []byte("tcp_v4_rcv")) {
		t.Error("of two functions the top one is not alone")
	}
	figures, err := Figures(s)
	if err != nil {
		t.Fatal(err)
	}
	drawn := false
	for _, f := range figures {
		drawn = drawn || f.Name == "profile" && strings.Contains(f.Caption, "copy (red)")
	}
	if !drawn {
		t.Error("no stacked bars")
	}
}
