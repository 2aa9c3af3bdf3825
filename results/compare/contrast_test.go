// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// session plays cells in blocks of one session on one boot: gbps tells what each can do,
// and runs vary by .5 %. A cell of which it is 0 cannot run.
func session(seed uint64, reps int, cells []plan.Cell, gbps func(plan.Cell) float64) results.Journal {
	rng := rand.New(rand.NewPCG(seed, 5))
	j := results.Journal{Header: results.Header{Cells: cells, Plan: &plan.Origin{Baseline: &cells[0]}}}
	for rep := range reps {
		for _, c := range cells {
			r := results.Record{Cell: c, SessionID: "s", Rep: rep, Block: rep, Verdict: results.OK,
				Schema: results.SchemaVersion}
			r.SUT.Env.BootID, r.TG.Env.BootID = "sut", "tg"
			if v := gbps(c); v == 0 {
				r.Verdict, r.Reason = results.Unsupported, "mlx5 wants rx-gro-hw on before header split"
			} else {
				v *= 1 + .005*rng.NormFloat64()
				r.SUT.ThroughputGbps, r.SUT.CPUBusyCores = &v, ptr(1.0)
			}
			j.Records = append(j.Records, r)
		}
	}
	return j
}

// gro is a cell with hardware GRO on or off.
func gro(rx string, hw bool) plan.Cell {
	return plan.Cell{ID: fmt.Sprintf("%s/tcp hw_gro=%v", rx, hw), RX: rx, TX: "tcp", Touch: "read", HWGRO: &hw}
}

// Hardware GRO is worth 30 %, the mode nothing, and the NIC can do the mode only with it: no
// verdict about the mode may come out, whichever cells the plan has.
func TestMatchedContrasts(t *testing.T) {
	onlyHW := func(c plan.Cell) float64 {
		switch {
		case c.RX == "zcrx" && !*c.HWGRO:
			return 0
		case *c.HWGRO:
			return 130
		}
		return 100
	}
	all := []plan.Cell{gro("tcp", false), gro("tcp", true), gro("zcrx", false), gro("zcrx", true)}
	for _, c := range []struct {
		name  string
		cells []plan.Cell
		want  []string // rows: factor, pair and verdict
	}{
		{"with a partner", all, []string{
			"rx zcrx/tcp hw_gro=true : tcp/tcp hw_gro=true: cannot tell",
			"hw_gro tcp/tcp hw_gro=true : tcp/tcp hw_gro=false: faster (within this boot)",
		}},
		{"without", []plan.Cell{all[0], all[2], all[3]}, []string{
			" zcrx/tcp hw_gro=true : tcp/tcp hw_gro=false: cannot tell (differs in rx, hw_gro); forced: hw_gro=on",
		}},
		{"a plan of two cells", []plan.Cell{all[0], all[3]}, []string{
			" zcrx/tcp hw_gro=true : tcp/tcp hw_gro=false: cannot tell (differs in rx, hw_gro)",
		}},
	} {
		wrong := 0
		for seed := range uint64(100) {
			s := NewSet("s", session(seed, 8, c.cells, onlyHW))
			r, err := Within(&s, c.cells[0], metrics(t, "throughput_gbps"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range r.Rows {
				row := &r.Rows[i]
				got = append(got, fmt.Sprintf("%s %s: %s", row.Factor, row.Label(), row.VerdictText()))
				if row.Factor == "rx" && row.Verdict != Unsure {
					wrong++
					got[i] = c.want[i]
				}
				if row.Factor == "" && row.RatioText() != "-" {
					t.Errorf("%s: a ratio of two factors: %s", c.name, row.RatioText())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("%s:\n%s", c.name, strings.Join(got, "\n"))
			}
		}
		if t.Logf("%s: %d verdicts about the mode of 100", c.name, wrong); wrong > 5 {
			t.Errorf("%s: %d verdicts about the mode of 100", c.name, wrong)
		}
	}
	s := NewSet("s", session(1, 8, all, onlyHW))
	r, err := Within(&s, all[0], metrics(t, "throughput_gbps"))
	const line = "hw_gro=on of zcrx/tcp hw_gro=true is forced: zcrx/tcp hw_gro=false cannot run: mlx5 wants " +
		"rx-gro-hw on before header split"
	if err != nil || !slices.Equal(r.ForcedLines(), []string{line}) {
		t.Errorf("%q, %v", r.ForcedLines(), err)
	}
	// A mode that is worth something is found, and what was forced stands beside it.
	s = NewSet("s", session(1, 8, all, func(c plan.Cell) float64 {
		if v := onlyHW(c); c.RX == "tcp" {
			return v
		}
		return 1.1 * onlyHW(c)
	}))
	if r, _ := Within(&s, all[0],
		metrics(t, "throughput_gbps")); r.Rows[0].VerdictText() != "faster (within this boot; hw_gro=on forced)" {
		t.Errorf("%q", r.Rows[0].VerdictText())
	}
	// Two cells that the user chose are compared as they are, and of what it is said.
	a, b := s, s
	a.Cells, b.Cells = s.Cells[:1], s.Cells[3:]
	a.Chosen, b.Chosen = []string{"rx", "hw_gro"}, []string{"rx", "hw_gro"}
	if r, err := Compare(&a, &b, metrics(t, "throughput_gbps")); err != nil ||
		r.Rows[0].VerdictText() != "faster (within this boot; of rx, hw_gro together)" {
		t.Errorf("%q, %v", r.Rows[0].VerdictText(), err)
	}
}

// Partners are found across modes that different options concern, and next to the baseline.
func TestContrasts(t *testing.T) {
	zcrx := func(bytes int) plan.Cell {
		return plan.Cell{ID: fmt.Sprint("zcrx ", bytes), RX: "zcrx", TX: "tcp", Touch: "read", RXBufLen: bytes}
	}
	tcp9000, both := tcp, plan.Cell{ID: "uring 9000", RX: "uring", TX: "tcp", Touch: "read", MTU: 9000}
	tcp9000.ID, tcp9000.MTU = "tcp 9000", 9000
	uring := plan.Cell{ID: "uring", RX: "uring", TX: "tcp", Touch: "read"}
	for _, c := range []struct {
		name  string
		cells []plan.Cell
		about []string
		want  string
	}{
		{"an option of one mode", []plan.Cell{tcp, zcrx(4096), zcrx(32768)}, nil,
			"rx: zcrx 4096 : tcp/tcp; rx: zcrx 32768 : tcp/tcp; rx_buf_len: zcrx 32768 : zcrx 4096"},
		{"the baseline's mode has it", []plan.Cell{zcrx(4096), zcrx(32768), tcp}, nil,
			"rx: tcp/tcp : zcrx 4096; rx_buf_len: zcrx 32768 : zcrx 4096"},
		{"two factors", []plan.Cell{tcp, tcp9000, uring, both}, nil,
			"rx: uring : tcp/tcp; rx: uring 9000 : tcp 9000; mtu: tcp 9000 : tcp/tcp; mtu: uring 9000 : uring"},
		{"one is asked about", []plan.Cell{tcp, tcp9000, uring, both}, []string{"rx"},
			"rx: uring : tcp/tcp; rx: uring 9000 : tcp 9000"},
		{", cells without a counterpart", []plan.Cell{tcp, both}, []string{"rx"}, "[rx mtu]: uring 9000 : tcp/tcp"},
		{"one cell", []plan.Cell{tcp}, nil, ""},
	} {
		var got []string
		for _, p := range Contrasts(c.cells, c.cells[0], Asked{About: c.about}, func(int) bool { return true }) {
			name := p.Factor
			if name == "" {
				name = fmt.Sprint(p.Others)
			}
			got = append(got, name+": "+c.cells[p.B].ID+" : "+c.cells[p.A].ID)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, "; "), c.want)
		}
	}
}

// A pace is a rate or a share, and a plan may have both: the share is compared with the rate, each
// with its own cell, also when it is known what the share came to.
func TestContrastsOfRateAndShare(t *testing.T) {
	at := func(bits, percent int) plan.Cell {
		c := plan.Cell{RX: "tcp", TX: "tcp", Touch: "read", PaceBitsPS: bits, PacePercent: percent}
		c.ID = plan.LookupOption("pace").Value(&c)
		return c
	}
	planned := []plan.Cell{at(10e9, 0), at(0, 50)}
	for base, want := range map[int][]Pair{0: {{A: 0, B: 1, Factor: "pace"}}, 1: {{A: 1, B: 0, Factor: "pace"}}} {
		for _, share := range []int{0, 5e9} {
			cells := slices.Clone(planned)
			cells[1].PaceBitsPS = share
			if got := Contrasts(cells, cells[base], Asked{About: []string{"pace"}},
				func(int) bool { return true }); !reflect.DeepEqual(got, want) {
				t.Errorf("from %s, a share of %d: %+v, want %+v", cells[base].ID, share, got, want)
			}
		}
	}
	j := session(1, 8, planned,
		func(c plan.Cell) float64 { return map[bool]float64{true: 5, false: 10}[c.PacePercent != 0] })
	for i := range j.Records {
		if c := &j.Records[i].Cell; c.PacePercent != 0 {
			c.PaceBitsPS = 5e9
		}
	}
	s := NewSet("s", j)
	if err := s.AskAbout([]string{"pace"}); err != nil {
		t.Fatal(err)
	}
	r, err := Within(&s, planned[0], metrics(t, "throughput_gbps", "ns_per_kb"))
	if err != nil || len(r.Rows) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, row := range r.Rows {
		if row.Factor != "pace" || row.B.PacePercent != 50 || row.SumB == nil || row.SumB.N != 8 {
			t.Errorf("%s: %s %+v", row.Metric, row.Label(), row)
		}
	}
}
