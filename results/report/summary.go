// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
	"github.com/zcbench/zcbench/results/sweep"
	"github.com/zcbench/zcbench/results/why"
)

// Summary is a journal per cell, in the order of the plan.
type Summary struct {
	Header results.Header `json:"header"`
	Runs   int            `json:"runs"`             // records used, warm-ups included
	Warmup int            `json:"warmups"`          // of those, warm-ups
	Trials int            `json:"trials,omitempty"` // and trials of searches

	// Answer is what the evidence supports, in sentences; nil: there is nothing to say.
	Answer *answer.Answer `json:"answer,omitempty"`
	// Answers are what was learnt, in the order of the sentences that tell it.
	Answers []answer.Finding `json:"answers"`
	Brief   *answer.Brief    `json:"-"`

	Cells []Cell `json:"cells"`
	// Means is what is said of all runs that changes what their figures mean.
	Means []string `json:"caveats,omitempty"`
	Stops []stop   `json:"stops,omitempty"` // why runs gave no number, each reason once
	Notes []note   `json:"notes,omitempty"` // flags and warnings, each once

	// Compared is every cell beside the baseline; nil without a second cell.
	Compared *compare.Result `json:"compared,omitempty"`
	// Uncompared is why they are not, where they are too many.
	Uncompared string `json:"uncompared,omitempty"`
	// Why is what makes the difference in CPU time, of each two of these that were profiled.
	Why []*why.Result `json:"why,omitempty"`
	// WhyMore is how many such comparisons are left out, beyond the first 40.
	WhyMore int `json:"why_more,omitempty"`

	SUT Machine `json:"sut"` // the receivers' host
	TG  Machine `json:"tg"`  // the senders' host

	// CostRate is what a GB of payload costs each end, over the rate.
	CostRate []costRate `json:"cost_rate,omitempty"`

	ROI *roi `json:"roi,omitempty"`
	// Flows are how cells with several flows do by their number; nil: none has.
	Flows []flowCurve `json:"flows,omitempty"`
	Trips []tripsCell `json:"round_trips,omitempty"`
	// Sweeps are the cells that differ in one size alone, from plenty to starving.
	Sweeps []sweep.Sweep `json:"sweeps,omitempty"`
	// LossFree are the cells whose runs are searches for the highest rate without loss.
	LossFree []lossFreeCell `json:"loss_free,omitempty"`
	// Along are the cells with a path of interfaces.
	Along []alongCell `json:"along_path,omitempty"`

	// Environment is in what the hosts differed between cells, a fact a line.
	Environment []string `json:"environment,omitempty"`
	// Calibrations are what shares of a pace are of, one of each family of cells that are compared.
	Calibrations []*results.Calibration `json:"calibrations,omitempty"`
	// gross and net; none where only busy cores were measured
	Costs []Costs `json:"costs,omitempty"`

	Ladders []ladder `json:"ladders,omitempty"` // of cells that move frames

	Skipped []results.Problem `json:"skipped,omitempty"` // journal lines not used

	// Top is how many functions of each profile a terminal shows, of all cells; 0: some, of a few.
	Top    int     `json:"-"`
	Flames *Flames `json:"-"` // nil: no run has a profile, or nobody has drawn them

	decisions []*decision // none: no cell has a cost
}

// Cell is one row of the table.
type Cell struct {
	Cell plan.Cell `json:"cell"`

	// Runs by verdict. Warm-ups are not counted, unless none but warm-ups that
	// went wrong are there.
	OK          int `json:"ok"`
	Invalid     int `json:"invalid"`
	Failed      int `json:"failed"`
	Unsupported int `json:"unsupported"`
	// Blocked are those of Unsupported that lack nothing: what was asked for, or a host's state,
	// is in the way.
	Blocked int `json:"blocked,omitempty"`
	// Expected are the invalid ones that could not be anything else where they were made.
	Expected int `json:"expected,omitempty"`

	// Replaced are the invalid ones that something else spoilt and that were made again;
	// Made are the repetitions, whatever became of them.
	Replaced int `json:"replaced,omitempty"`
	Made     int `json:"made"`
	// Flagged are the gates whose limits runs that count are beyond.
	Flagged []string `json:"flagged,omitempty"`
	// HeldBy is what kept most runs from being faster, where that was not the receiver, nor a pace
	// that was asked for: what the receiver could do was not measured.
	HeldBy plan.LimitedBy `json:"held_by,omitempty"`
	// Slack is why 1/packets_per_s is not what a packet costs the receiver, in most runs.
	Slack results.Slack `json:"slack,omitempty"`

	// Means is what is said of its runs that changes what its figures mean, and not of all cells:
	// "the SUT was not charged for all of its own softirq (6 of 6 runs)".
	Means []string `json:"caveats,omitempty"`

	Stops []int `json:"stops,omitempty"` // numbers of Summary.Stops

	Pace *pace `json:"pace,omitempty"` // nil: its runs were as fast as they could be

	SUT End `json:"sut"`
	TG  End `json:"tg"`
}

// End is one host's half of a cell. A nil figure was not measured.
type End struct {
	Name           string        `json:"name,omitempty"`
	ThroughputGbps *stat.Summary `json:"throughput_gbps,omitempty"`
	BusyCores      *stat.Summary `json:"cpu_busy_cores,omitempty"`
	AppCores       *stat.Summary `json:"cpu_app_cores,omitempty"`
	SysCores       *stat.Summary `json:"cpu_sys_cores,omitempty"`
	SoftCores      *stat.Summary `json:"cpu_soft_cores,omitempty"`
	NsPerKB        *stat.Summary `json:"ns_per_kb,omitempty"` // busy CPU nanoseconds per 1000 bytes
	PowerW         *stat.Summary `json:"power_w,omitempty"`
	PowerBy        []string      `json:"power_by,omitempty"`     // the instruments of PowerW: "rapl (package)"
	JoulePerGB     *stat.Summary `json:"joule_per_gb,omitempty"` // gross, per 1e9 bytes
	ROICPU         *stat.Summary `json:"roi_cpu,omitempty"`      // (Gbit/s)^2 per busy core
	ROIPower       *stat.Summary `json:"roi_power,omitempty"`    // (Gbit/s)^2 per watt
	DeliveryP99Us  *stat.Summary `json:"delivery_p99_us,omitempty"`
	PacketsPerS    *stat.Summary `json:"packets_per_s,omitempty"` // of modes that move packets
	NsPerPacket    *stat.Summary `json:"ns_per_packet,omitempty"`
	RateNs         *stat.Summary `json:"rate_ns,omitempty"`    // 1/packets_per_s
	LostShare      *stat.Summary `json:"lost_share,omitempty"` // of the sent packets, of the receiver's half
	Proof          *Proof        `json:"zero_copy_proof,omitempty"`
	Probed         *Probed       `json:"probed,omitempty"`   // nil: no probe ran
	Hardware       *Hardware     `json:"hardware,omitempty"` // nil: nothing counted there
	// Polled is who took packets from the queues, by the names of columns; nil: nobody tells.
	Polled map[string]*stat.Summary `json:"polled,omitempty"`

	trips bool // its throughput is that of requests
}

// stop is a reason why runs gave no number, and what to do about it.
type stop struct {
	Number  int             `json:"number"` // from 1, as the table cites it
	Verdict results.Verdict `json:"verdict"`
	Reason  string          `json:"reason"`
	Fix     string          `json:"fix,omitempty"`
	Blocked bool            `json:"blocked,omitempty"` // unsupported: see results.Record
	Cells   []string        `json:"cells"`
	Runs    int             `json:"runs"` // warm-ups included
}

// note is a flag or a warning and the number of runs or cells it is about.
type note struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
	Unit  string `json:"unit"` // "run", "cell", or "warm-up": no run that counts had it
}

// Summarize sums up a journal.
func Summarize(j results.Journal) *Summary {
	s := &Summary{Header: j.Header, Runs: len(j.Records), Skipped: j.Skipped}
	set := compare.NewSet("all cells", j)
	groups := group(j)
	known(groups, &set)
	stops := stopList{numbers: map[stopKey]int{}, named: map[stopCell]bool{}}
	s.Cells = make([]Cell, 0, len(groups))
	for _, g := range groups {
		s.Cells = append(s.Cells, stops.cell(g))
	}
	s.Stops = stops.all()
	// Cells at turns of other lengths come last, and are in no chart and no order.
	other := set.OtherTurns()
	own := slices.DeleteFunc(slices.Clone(groups), func(g *cellRuns) bool { return other(&g.cell) })
	s.mean(groups)
	s.Compared, s.Uncompared = compared(&set)
	between := set.Between
	q := asked{between: between, compared: s.Compared, rankings: answer.Rankings(&set, leadBy)}
	s.Sweeps = sweep.Of(&set, s.Compared.Effect())
	s.Answer, s.Brief = answerOf(&set, s) // its rankings have a part in the comparisons' p
	s.Answers = []answer.Finding{}
	if s.Brief != nil {
		s.Answers = s.Brief.Findings
	}
	s.ROI, s.Calibrations = roiOf(returning(own), q), calibrations(&j)
	if s.ROI != nil {
		s.ROI.groups = own
	}
	s.UseExponents(Exponents{})
	s.Ladders = ladders(groups, s.Cells)
	s.Costs, s.Flows, s.Trips = costsOf(own), flowCurves(own, s.Cells, between), tripsOf(groups, s.Cells)
	s.Along, s.LossFree = alongOf(groups, s.Cells), lossFreeOf(groups, s.Cells)
	for i := range j.Records {
		switch r := &j.Records[i]; {
		case r.Tries():
			s.Trials++
		case r.Warmup:
			s.Warmup++
		}
	}
	s.Notes = notes(j.Records, s.Cells)
	s.Why, s.WhyMore = whyOf(s.Compared)
	s.decisions = decisionsOf(own, s.Cells)
	s.CostRate = costRatesOf(own, s.Cells)
	s.SUT = machine(j.Records, func(r *results.Record) *results.Host { return &r.SUT })
	s.TG = machine(j.Records, func(r *results.Record) *results.Host { return &r.TG })
	return s
}

// compared sets the cells beside the plan's baseline, or the first that has runs; many says that
// they are too many for that.
func compared(set *compare.Set) (r *compare.Result, many string) {
	var base *plan.Cell
	for i := range set.Cells {
		if len(set.Cells[i].Runs) > 0 {
			base = &set.Cells[i].Cell
			break
		}
	}
	if set.Base != nil {
		base = set.Base
	}
	if base == nil {
		return nil, ""
	}
	metrics, err := compare.Lookup(compare.WithTraffic(compare.Priced(compare.ReportMetrics, set), set))
	if err != nil {
		return nil, ""
	}
	r, err = compare.WithinUpTo(set, *base, metrics, mostCompared)
	if e := (*compare.ManyError)(nil); errors.As(err, &e) {
		return nil, fmt.Sprintf("cells are not compared: %v, with zcbench compare", e)
	}
	return r, "" // none where nothing can be compared
}

type cellRuns struct {
	cell    plan.Cell
	runs    []*results.Record
	session string // that the journal began with
	set     *compare.Cell
}

// known gives each cell what comparisons know of it.
func known(groups []*cellRuns, set *compare.Set) {
	at := map[plan.CellKey]*compare.Cell{}
	for i := range set.Cells {
		at[set.Cells[i].Cell.Key()] = &set.Cells[i]
	}
	for _, g := range groups {
		g.set = at[g.cell.Key()]
	}
}

// group collects the runs of each cell. Cells stand in the order of the plan,
// where the journal's header has one, then in that of their first runs.
func group(j results.Journal) []*cellRuns {
	var out []*cellRuns
	at := map[plan.CellKey]*cellRuns{}
	var keys plan.Keys
	find := func(c *plan.Cell) *cellRuns {
		k := keys.Of(c)
		if at[k] == nil {
			at[k] = &cellRuns{cell: *c, session: j.Header.SessionID}
			out = append(out, at[k])
		}
		return at[k]
	}
	for i := range j.Header.Cells {
		find(&j.Header.Cells[i])
	}
	for i := range j.Records {
		if calibrates(&j.Records[i]) || j.Records[i].Tries() {
			continue
		}
		g := find(&j.Records[i].Cell)
		g.runs = append(g.runs, &j.Records[i])
	}
	return out
}

type stopKey struct {
	verdict     results.Verdict
	reason, fix string
	blocked     bool
}

type stopList struct {
	list    []stop
	reasons []*blend
	numbers map[stopKey]int
	named   map[stopCell]bool
	own     map[int]bool // of the cell at hand
}

type stopCell struct {
	number int
	cell   string
}

func (l *stopList) cell(g *cellRuns) Cell {
	c := Cell{Cell: g.cell}
	l.own = map[int]bool{}
	var ok []*results.Record
	measured := slices.ContainsFunc(g.runs, func(r *results.Record) bool { return !r.Warmup })
	for _, r := range g.runs {
		if r.Verdict != results.OK {
			l.add(&c, r)
		} else if !r.Warmup {
			ok = append(ok, r)
		}
		if !r.Warmup || !measured {
			c.count(r)
		}
	}
	c.replaced(g.runs)
	if g.set != nil {
		c.HeldBy = g.set.HeldBy(plan.ByReceiver, plan.ByPace)
	}
	c.Pace, c.Slack = paceOf(ok), results.SlackOf(ok)
	c.SUT = end(ok, func(r *results.Record) *results.Host { return &r.SUT })
	c.TG = end(ok, func(r *results.Record) *results.Host { return &r.TG })
	c.leaveROI()
	return c
}

func (c *Cell) count(r *results.Record) {
	switch r.Verdict {
	case results.OK:
		if !r.Warmup {
			c.OK++
		}
	case results.Invalid:
		c.Invalid++
		if r.Expected {
			c.Expected++
		}
	case results.Failed:
		c.Failed++
	case results.Unsupported:
		c.Unsupported++
		if r.Blocked {
			c.Blocked++
		}
	}
}

func (l *stopList) add(c *Cell, r *results.Record) {
	reason, fix := r.Reason, r.Fix
	if strings.HasPrefix(reason, results.BlockSpoilt) { // of each block another: what to do stands with that run
		reason, fix = results.BlockSpoilt+" (which one: runs.csv, reason)", ""
	}
	k := stopKey{r.Verdict, mask(reason), fix, r.Blocked}
	n := l.numbers[k]
	if n == 0 {
		n = len(l.list) + 1
		l.numbers[k] = n
		l.list = append(l.list, stop{Number: n, Verdict: r.Verdict, Fix: fix, Blocked: r.Blocked})
		l.reasons = append(l.reasons, newBlend(reason))
	}
	s := &l.list[n-1]
	l.reasons[n-1].add(reason)
	s.Runs++
	if !l.own[n] {
		l.own[n] = true
		c.Stops = append(c.Stops, n)
		if at := (stopCell{n, c.Cell.ID}); !l.named[at] {
			l.named[at] = true
			s.Cells = append(s.Cells, c.Cell.ID)
		}
	}
}

// all returns the stops, their reasons with the ranges of their figures.
func (l *stopList) all() []stop {
	for i := range l.list {
		l.list[i].Reason = l.reasons[i].String()
	}
	return l.list
}

func end(runs []*results.Record, host func(*results.Record) *results.Host) End {
	var e End
	stat := func(f func(*results.Host) *float64) *stat.Summary {
		var v []float64
		for _, r := range runs {
			if x := f(host(r)); x != nil {
				v = append(v, *x)
			}
		}
		return stat.Summarize(v)
	}
	for _, r := range runs {
		e.trips = e.trips || host(r).Transactions != nil
		e.Name = cmp.Or(e.Name, host(r).Name)
		if h := host(r); h.PowerW != nil && !slices.Contains(e.PowerBy, h.Instrument().String()) {
			e.PowerBy = append(e.PowerBy, h.Instrument().String())
		}
	}
	e.ThroughputGbps = stat(func(h *results.Host) *float64 { return h.ThroughputGbps })
	e.BusyCores = stat(func(h *results.Host) *float64 { return h.CPUBusyCores })
	e.AppCores = stat(func(h *results.Host) *float64 { return h.CPUAppCores })
	e.SysCores = stat(func(h *results.Host) *float64 { return h.CPUSysCores })
	e.SoftCores = stat(func(h *results.Host) *float64 { return h.CPUSoftCores })
	e.PowerW = stat(func(h *results.Host) *float64 { return h.PowerW })
	e.NsPerKB = stat((*results.Host).NsPerKB)
	e.JoulePerGB = stat((*results.Host).JoulePerGB)
	e.ROICPU = stat((*results.Host).ROICPU)
	e.ROIPower = stat((*results.Host).ROIPower)
	e.DeliveryP99Us = stat(deliveryP99)
	e.PacketsPerS = stat(func(h *results.Host) *float64 { return h.PacketsPerS })
	e.NsPerPacket = stat((*results.Host).NsPerPacket)
	e.RateNs = stat((*results.Host).RateNs)
	e.LostShare = stat(func(h *results.Host) *float64 { return h.Packets.LostShare() })
	e.Proof = proof(runs, host)
	e.Probed = probed(runs, host)
	e.Hardware = hardwareOf(stat)
	e.Polled = polledOf(stat)
	return e
}

// notes lists flags and warnings in the order they came up, then what the
// statistics have to say about the throughput, which leads the table. It counts runs as the rows
// do: a warm-up is none.
func notes(recs []results.Record, cells []Cell) []note {
	var out []note
	var blends []*blend
	at := map[note]int{}
	add := func(text, unit string) {
		k := note{Text: mask(text), Unit: unit}
		if _, ok := at[k]; !ok {
			at[k] = len(out)
			out = append(out, k)
			blends = append(blends, newBlend(text))
		}
		out[at[k]].Count++
		blends[at[k]].add(text)
	}
	runs := func(unit string) {
		for i := range recs {
			if recs[i].Warmup != (unit == warmUp) {
				continue
			}
			for _, text := range distinct(slices.Concat(recs[i].Flags, recs[i].Warnings)) {
				if _, counted := at[note{Text: mask(text), Unit: "run"}]; unit == "run" || !counted {
					add(text, unit)
				}
			}
		}
	}
	runs("run")
	for i := range cells {
		if s := cells[i].SUT.ThroughputGbps; s != nil {
			for _, text := range s.Warnings {
				add(text, "cell")
			}
		}
	}
	runs(warmUp)
	for i := range out {
		out[i].Text = blends[i].String()
	}
	return out
}

const warmUp = "warm-up"

func distinct(words []string) []string {
	var out []string
	seen := make(map[string]bool, len(words))
	for _, w := range words {
		if w != "" && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}
