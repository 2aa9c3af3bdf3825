package report

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed report.html.tmpl
var pageText string

// The template package escapes every text by where it stands: reasons and
// names come from other machines.
var page = template.Must(template.New("report").Parse(pageText))

// HTML writes the summary as one page that needs nothing else: no network, no
// script, styles and plots inside.
func HTML(w io.Writer, s *Summary) error {
	return page.Execute(w, newView(s))
}

// view is the summary as texts and positions.
type view struct {
	*Summary
	Title   string
	Created string
	Rows    []rowView
	Notes   []string
	Facts   []factView
	Dots    plot
	Split   plot
}

type rowView struct {
	RX, TX, Setting     string
	Gbps, Interval      string
	BusySUT, BusyTG, NS string
	CopiedRX, CopiedTX  string
	ROISUT, ROITG       string
	PowerSUT, PowerTG   string
	Verdict             string
	Good                bool
	Stops               []int
}

// factView is a row of the environment table.
type factView struct {
	Name, SUT, TG string
}

func newView(s *Summary) view {
	v := view{Summary: s, Title: "zcbench: zero-copy receive benchmark", Notes: noteLines(s)}
	if s.Header.CreatedUTCNs != 0 {
		v.Created = time.Unix(0, s.Header.CreatedUTCNs).UTC().Format("2006-01-02 15:04 UTC")
	}
	under := settings(s.Cells)
	for i := range s.Cells {
		v.Rows = append(v.Rows, newRow(&s.Cells[i], under[i]))
	}
	v.Facts = factRows(s.SUT, s.TG)
	v.Dots = dotPlot(s.Cells, under)
	v.Split = splitPlot(s.Cells, under)
	return v
}

func newRow(c *Cell, setting string) rowView {
	return rowView{
		RX: c.Cell.RX, TX: c.Cell.TX, Setting: setting,
		Gbps: median(c.SUT.ThroughputGbps, fixed2), Interval: interval(c.SUT.ThroughputGbps, fixed2),
		BusySUT: median(c.SUT.BusyCores, fixed2), BusyTG: median(c.TG.BusyCores, fixed2),
		NS:       median(c.SUT.NsPerKB, digits3),
		CopiedRX: copied(c.SUT.Proof), CopiedTX: copied(c.TG.Proof),
		ROISUT: median(c.SUT.ROICPU, digits3), ROITG: median(c.TG.ROICPU, digits3),
		PowerSUT: median(c.SUT.PowerW, digits3), PowerTG: median(c.TG.PowerW, digits3),
		Verdict: verdict(c), Good: c.OK > 0 && len(c.Stops) == 0, Stops: c.Stops,
	}
}

// Power tells whether any cell has a power figure: the columns are left out
// otherwise.
func (v view) Power() bool {
	for _, c := range v.Cells {
		if c.SUT.PowerW != nil || c.TG.PowerW != nil {
			return true
		}
	}
	return false
}

func factRows(sut, tg Machine) []factView {
	out := []factView{{"host", orNone(sut.Name), orNone(tg.Name)}}
	at := map[string]int{}
	add := func(list []Fact, field func(*factView) *string) {
		for _, f := range list {
			if _, ok := at[f.Name]; !ok {
				at[f.Name] = len(out)
				out = append(out, factView{f.Name, none, none})
			}
			*field(&out[at[f.Name]]) = f.Value
		}
	}
	add(sut.Facts, func(f *factView) *string { return &f.SUT })
	add(tg.Facts, func(f *factView) *string { return &f.TG })
	return out
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}
