// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
)

//go:embed costrate.html.tmpl
var costRateText string

// ratePlate is one drawing of a chart of costs by rate.
type ratePlate struct {
	*costRate
	plate
	links bool // to the rows of the table
	tags  []string
}

// longTag is the longest name that stands beside a curve; the legend has a number for others.
const longTag = 18

func (r *costRate) draw(width, height float64, links bool) *ratePlate {
	p := &ratePlate{costRate: r.first(mostCurves), plate: newPlate(width, height), links: links}
	p.tags = p.numbered()
	p.scales()
	p.grid("delivered, Gbit/s", "CPU seconds per GB, "+hostOf(r.Role))
	for i := range p.Curves {
		p.band(i)
	}
	for i := range p.Curves {
		p.line(i)
	}
	p.crossed()
	for i := range p.Curves {
		c := &p.Curves[i]
		for k := range c.Missed {
			p.missed(i, &c.Missed[k])
		}
		for k := range c.Points {
			p.point(i, &c.Points[k])
		}
	}
	p.b.WriteString(`<g class="names">`)
	for i := range p.Curves {
		p.tag(i)
	}
	p.b.WriteString("</g>")
	return p
}

func hostOf(role ends.Role) string {
	if role == ends.TG {
		return "sender"
	}
	return "receiver"
}

// numbered gives curves short names where any name is long.
func (r *costRate) numbered() []string {
	out := make([]string, len(r.Curves))
	long := slices.ContainsFunc(r.Curves, func(c rateCurve) bool { return utf8.RuneCountInString(c.Name) > longTag })
	for i, c := range r.Curves {
		if out[i] = c.Name; long {
			out[i] = strconv.Itoa(i + 1)
		}
	}
	return out
}

// scales take in all points, their intervals, boxes and paces.
func (p *ratePlate) scales() {
	x0, x1, y0, y1 := math.Inf(1), 0.0, math.Inf(1), 0.0
	take := func(x, y float64) { x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y) }
	for _, c := range p.Curves {
		for _, at := range slices.Concat(c.Points, c.Missed) {
			take(at.Gbps.Mean, at.Cost.Mean)
			if at.Cost.Lo != nil {
				take(*at.Gbps.Lo, *at.Cost.Lo)
				take(*at.Gbps.Hi, *at.Cost.Hi)
			}
			if at.Band != nil {
				take(at.Band.GbpsLo, at.Band.CostLo)
				take(at.Band.GbpsHi, at.Band.CostHi)
			}
		}
		for _, at := range c.Missed {
			x1 = max(x1, *at.PaceGbps)
		}
	}
	p.x.lo, p.x.hi = room(max(0, x0), x1)
	p.y.lo, p.y.hi = room(max(0, y0), y1)
	p.place(&p.x, &p.y)
}

// look gives a curve its colour and shape: pairs of both repeat after 42.
func look(i int) (color, kind int) { return i % mostColors, i % mostShapes }

// band shades where a curve can run: the hull of each two neighbours' boxes.
func (p *ratePlate) band(i int) {
	c := &p.Curves[i]
	color, _ := look(i)
	var d strings.Builder
	for k := range c.Points {
		if c.Points[k].Band == nil {
			return
		}
		corners := p.corners(c.Points[k].Band)
		if k > 0 {
			corners = append(corners, p.corners(c.Points[k-1].Band)...)
		} else if len(c.Points) > 1 {
			continue
		}
		for n, at := range hull(corners) {
			d.WriteString([]string{"M", "L"}[min(n, 1)] + px(at[0]) + " " + px(at[1]))
		}
		d.WriteString("Z")
	}
	if d.Len() > 0 {
		fmt.Fprintf(p.b, `<path class="band c%d" d="%s"/>`, color, d.String())
	}
}

func (p *ratePlate) corners(b *rateBand) (out [][2]float64) {
	for _, x := range []float64{b.GbpsLo, b.GbpsHi} {
		for _, y := range []float64{b.CostLo, b.CostHi} {
			out = append(out, [2]float64{p.x.at(x), p.y.at(y)})
		}
	}
	return out
}

// hull returns the corners of the least shape without dents around points (Andrew 1979).
func hull(points [][2]float64) [][2]float64 {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
	half := func() (out [][2]float64) {
		for _, q := range points {
			for n := len(out); n > 1 && turn(out[n-2], out[n-1], q) <= 0; n = len(out) {
				out = out[:n-1]
			}
			out = append(out, q)
		}
		return out[:max(0, len(out)-1)]
	}
	lower := half()
	slices.Reverse(points)
	return append(lower, half()...)
}

// turn is above 0 where the way from a over b to c turns left.
func turn(a, b, c [2]float64) float64 { return (b[0]-a[0])*(c[1]-a[1]) - (b[1]-a[1])*(c[0]-a[0]) }

func (p *ratePlate) line(i int) {
	c := &p.Curves[i]
	if len(c.Points) < 2 {
		return
	}
	var d strings.Builder
	for k := range c.Points {
		at := &c.Points[k]
		d.WriteString([]string{"M", "L"}[min(k, 1)] + px(p.x.at(at.Gbps.Mean)) + " " + px(p.y.at(at.Cost.Mean)))
	}
	color, _ := look(i)
	class := "curve"
	if c.Bound {
		class += " bound"
	}
	fmt.Fprintf(p.b, `<path class="%s c%d" d="%s"/>`, class, color, d.String())
}

// crossed marks the rates at which curves cross beyond doubt: a line down to the axis, and on it
// the interval.
func (p *ratePlate) crossed() {
	for _, c := range p.Crossings {
		for _, at := range c.At {
			if !at.Certain || at.Lo < p.x.lo || at.Hi > p.x.hi {
				continue
			}
			x, y := p.x.at(at.Gbps), p.y.from
			top := y
			for _, curve := range p.Curves {
				if cost, ok := curve.at(at.Gbps); ok && curve.Name == c.A {
					top = p.y.at(cost)
				}
			}
			fmt.Fprintf(p.b, `<g class="crossing"><title>%s</title><path d="M%s %sV%s"/><path class="bar" `+
				`d="M%s %sH%s"/></g>`, html.EscapeString(c.Sentence), px(x), px(y), px(top), px(p.x.at(at.Lo)), px(y-3),
				px(p.x.at(at.Hi)))
			p.taken = append(p.taken, rect{p.x.at(at.Lo), y - 6, p.x.at(at.Hi), y})
		}
	}
}

// at computes the cost on a curve; false: it does not reach there.
func (c *rateCurve) at(gbps float64) (cost float64, ok bool) {
	for k := 1; k < len(c.Points); k++ {
		a, b := &c.Points[k-1], &c.Points[k]
		if w := (gbps - a.Gbps.Mean) / (b.Gbps.Mean - a.Gbps.Mean); w >= 0 && w <= 1 {
			return a.Cost.Mean + w*(b.Cost.Mean-a.Cost.Mean), true
		}
	}
	return 0, false
}

// begin opens a mark.
func (p *ratePlate) begin(class string, i int, at *ratePoint) {
	color, _ := look(i)
	if p.links {
		fmt.Fprintf(p.b, `<a class="m c%d%s" href="#cell%d">`, color, class, at.number)
	} else {
		fmt.Fprintf(p.b, `<g class="m c%d%s">`, color, class)
	}
	fmt.Fprintf(p.b, "<title>%s</title>", html.EscapeString(p.words(&p.Curves[i], at)))
}

func (p *ratePlate) end() {
	if p.links {
		p.b.WriteString("</a>")
	} else {
		p.b.WriteString("</g>")
	}
}

func (p *ratePlate) cross(at *ratePoint, x, y float64) {
	if at.Cost.Lo == nil {
		return
	}
	fmt.Fprintf(p.b, `<path class="x" d="M%s %sH%sM%s %sV%s"/>`, px(p.x.at(*at.Gbps.Lo)), px(y),
		px(p.x.at(*at.Gbps.Hi)), px(x), px(p.y.at(*at.Cost.Lo)), px(p.y.at(*at.Cost.Hi)))
}

func (p *ratePlate) point(i int, at *ratePoint) {
	x, y := p.x.at(at.Gbps.Mean), p.y.at(at.Cost.Mean)
	class := ""
	if at.HeldBy != "" {
		class += " hollow"
	}
	if p.Curves[i].Bound {
		class += " bound"
	}
	p.begin(class, i, at)
	p.cross(at, x, y)
	r := 6.0
	if at.capacity() {
		r = 9
		fmt.Fprintf(p.b, `<circle class="ring" cx="%s" cy="%s" r="%g"/>`, px(x), px(y), r)
	}
	_, kind := look(i)
	fmt.Fprintf(p.b, `<path class="s" d="%s"/>`, shape(kind, x, y))
	p.end()
	p.taken = append(p.taken, rect{x - r, y - r, x + r, y + r})
}

// missed draws a point that did not reach its pace: at what it held, with an arrow to the pace.
func (p *ratePlate) missed(i int, at *ratePoint) {
	x, y, to := p.x.at(at.Gbps.Mean), p.y.at(at.Cost.Mean), p.x.at(*at.PaceGbps)
	p.begin(" hollow missed", i, at)
	p.cross(at, x, y)
	head := 5.0
	if to < x {
		head = -head
	}
	fmt.Fprintf(p.b, `<path class="arrow" d="M%s %sH%sM%s %sL%s %sL%s %s"/>`, px(x), px(y), px(to), px(to-head),
		px(y-3.5), px(to), px(y), px(to-head), px(y+3.5))
	_, kind := look(i)
	fmt.Fprintf(p.b, `<path class="s" d="%s"/>`, shape(kind, x, y))
	p.end()
	p.taken = append(p.taken, rect{min(x, to) - 6, y - 6, max(x, to) + 6, y + 6})
}

// tag names a curve at its end.
func (p *ratePlate) tag(i int) {
	c := &p.Curves[i]
	color, _ := look(i)
	for _, at := range slices.Backward(slices.Concat(c.Missed, c.Points)) {
		if p.put(p.tags[i], "c"+strconv.Itoa(color), p.x.at(at.Gbps.Mean), p.y.at(at.Cost.Mean)) {
			return
		}
	}
}

// words describes a point for when it is pointed at.
func (p *ratePlate) words(c *rateCurve, at *ratePoint) string {
	return fmt.Sprintf("%s\n%s\n%s Gbit/s, %s CPU s/GB\n%s", c.Name, at.what(), at.Gbps, at.Cost,
		strings.TrimSuffix(plural(at.Runs, "run")+"; "+at.remarks(), "; "))
}

// what says at which load a point is.
func (p *ratePoint) what() string {
	if p.capacity() {
		return "capacity"
	}
	return "pace " + p.Pace
}

// remarks say what a point is not.
func (p *ratePoint) remarks() string {
	switch {
	case p.HeldBy != "":
		return p.HeldBy.At() + ": its capacity is at least this"
	case p.Missed > 0:
		return fmt.Sprintf("%d of %s missed the pace of %s Gbit/s", p.Missed, plural(p.Runs, "run"),
			digits3(*p.PaceGbps))
	}
	return ""
}

// String formats the mean with its interval.
func (s spread) String() string {
	if s.Lo == nil {
		return significant(s.Mean)
	}
	return significant(s.Mean) + " [" + significant(*s.Lo) + ".." + significant(*s.Hi) + "]"
}

// significant shows about three digits of a figure that may be far below 1.
func significant(v float64) string {
	if v >= 1 || v <= 0 {
		return digits3(v)
	}
	return strconv.FormatFloat(v, 'f', min(9, 2-int(math.Floor(math.Log10(v)))), 64)
}

// Title names the chart.
func (r *costRate) Title() string {
	return "Cost against rate: the " + hostOf(r.Role) + "’s CPU time per GB of payload"
}

// caption explains how to read the chart.
func (r *costRate) caption() string {
	points, capacities, held, missed, bands, bound := 0, 0, false, false, false, false
	for _, c := range r.Curves {
		bound = bound || c.Bound
		missed = missed || len(c.Missed) > 0
		for _, p := range c.Points {
			if points++; p.capacity() {
				capacities++
			}
			held, bands = held || p.HeldBy != "", bands || p.Band != nil
		}
	}
	mode := map[ends.Role]string{ends.SUT: "receive", ends.TG: "send"}[r.Role]
	var b strings.Builder
	fmt.Fprintf(&b, "Down and to the right is better. 1 GB = 1e9 bytes of payload.")
	switch {
	case points > capacities:
		fmt.Fprintf(&b, " A curve is a %s mode, with a point for each pace", mode)
		if capacities > 0 {
			b.WriteString("; it ends at the capacity (ringed), without a pace")
		}
		b.WriteString(".")
	default:
		fmt.Fprintf(&b, " A point is a %s mode at its capacity (ringed); there are no other rates, and so no curves.",
			mode)
	}
	fmt.Fprintf(&b, " Points are means of %ss", r.Unit)
	if r.Within != "" {
		b.WriteString(" (" + r.Within + ")")
	}
	if bands {
		what := "where the whole curve is with 95 % confidence, all its points together"
		if points == capacities {
			what = "where a point is with 95 % confidence, its rate and its cost together"
		}
		fmt.Fprintf(&b, ", crosses their 95 %% intervals by Student's t. Shaded: %s (Student's t and Bonferroni's "+
			"bound)", what)
		if points > capacities {
			b.WriteString(", if it is straight between them")
		}
		b.WriteString(".")
	} else {
		b.WriteString(".")
	}
	if r.Few {
		fmt.Fprintf(&b, " A point of fewer than 6 %ss has no interval, and its curve no band.", r.Unit)
	}
	if missed {
		b.WriteString(
			" Hollow with an arrow: did not reach its pace; it is at what it held, and the arrow ends at the " +
				"pace.")
	}
	if held {
		fmt.Fprintf(&b, " Hollow and ringed: limited by something other than the %s, so at least this.", hostOf(r.Role))
	}
	if bound {
		b.WriteString(" Dotted: the application never gets the payload, so a bound, not a choice.")
	}
	if more := max(r.more, len(r.Curves)-mostCurves); more > 0 {
		fmt.Fprintf(&b, " %s more are not drawn.", plural(more, "curve"))
	}
	return b.String()
}

// listed lists the points that missed their pace, and the costs that no point has.
func (r *costRate) listed() (out []string) {
	for _, c := range r.Curves {
		for _, p := range c.Missed {
			out = append(out, fmt.Sprintf("%s did not reach the pace %s (%s Gbit/s): it held %s Gbit/s at %s CPU s/GB",
				c.Name, p.Pace, digits3(*p.PaceGbps), p.Gbps, p.Cost))
		}
	}
	return out
}

// legend names the curves.
func (p *ratePlate) legend() []legendList {
	list := legendList{Title: map[ends.Role]string{ends.SUT: "RX", ends.TG: "TX"}[p.Role]}
	for i, c := range p.Curves {
		name := c.Name
		if p.tags[i] != name {
			name = p.tags[i] + ": " + name
		}
		color, kind := look(i)
		list.Items = append(list.Items, legendItem{Name: name, Color: color, Shape: kind, Icon: template.HTML(
			fmt.Sprintf(`<svg class="icon m c%d" viewBox="0 0 14 14" aria-hidden="true"><path class="s" d="%s"/></svg>`,
				color, shape(kind, 7, 7)))})
	}
	return []legendList{list}
}

// key draws the legend below a drawing that is a file of its own, and what the chart says.
func (p *ratePlate) key() (svg string, height float64) {
	const line = 17
	var b strings.Builder
	y := p.height + 10
	most := int((p.width - 40) / (letter * 1.05))
	row := func(text string) {
		for _, part := range wrapped(text, most) {
			fmt.Fprintf(&b, `<text x="32" y="%s">%s</text>`, px(y+4), html.EscapeString(part))
			y += line
		}
	}
	for _, item := range p.legend()[0].Items {
		fmt.Fprintf(&b, `<g class="m c%d"><path class="s" d="%s"/></g>`, item.Color, shape(item.Shape, 22, y))
		row(item.Name)
	}
	said := p.sentences()
	if n := len(said); n > mostSaid {
		said = append(said[:mostSaid], fmt.Sprintf("and %d more pairs of curves: report.html", n-mostSaid))
	}
	for _, text := range slices.Concat(said, p.listed()) {
		row(text)
	}
	return b.String(), y - p.height
}

// mostSaid is how many sentences of crossings stand below a chart; the page has the others folded.
const mostSaid = 6

// sentences say where curves cross, those that do before the others.
func (r *costRate) sentences() (out []string) {
	tags := r.numbered()
	for i := range tags {
		if tags[i] != r.Curves[i].Name {
			tags[i] = "curve " + tags[i]
		}
	}
	for _, crosses := range []bool{true, false} {
		for i := range r.Crossings {
			if c := &r.Crossings[i]; (c.Verdict == "crosses") == crosses {
				out = append(out, c.say(tags[c.a], tags[c.b]))
			}
		}
	}
	return out
}

// file renders the drawing as a file of its own.
func (p *ratePlate) file() []byte {
	key, height := p.key()
	return p.plate.file(p.Title(), p.caption(), key, height)
}

// rateView is the chart in the page.
type rateView struct {
	ID, Title, Caption string
	Folded             bool // it is not among the page's first
	Wide, Narrow       template.HTML
	Legend             []legendList
	Says, More         []string // and what is folded
	Rows               []rateRow
}

// rateRow is a row of the table behind it.
type rateRow struct {
	Number                   int
	Curve, Pace, Gbps, Cost  string
	Runs, Band, RateBand, On string
}

// rateViews are the charts for the page.
func rateViews(all []costRate) (out []rateView) {
	for i := range all {
		r := &all[i]
		wide := r.draw(wideWidth, wideHeight, true)
		v := rateView{ID: costRateName(r.Role), Folded: !r.alone, Title: r.Title(), Caption: wide.caption(),
			Legend: wide.legend(),
			Wide: wide.inPage("broad", r.Title(),
				strings.Join(slices.Concat([]string{wide.caption()}, wide.sentences()), " ")),
			Says:   r.listed(),
			Narrow: r.draw(narrowWidth, narrowHeight, true).inPage("narrow", r.Title(), wide.caption())}
		said := wide.sentences()
		v.Says, v.More = slices.Concat(said[:min(mostSaid, len(said))], v.Says), said[min(mostSaid, len(said)):]
		for _, c := range r.Curves {
			for _, p := range slices.Concat(c.Points, c.Missed) {
				row := rateRow{Number: p.number, Curve: c.Name, Pace: p.Pace, Gbps: p.Gbps.String(),
					Cost: p.Cost.String(),
					Runs: strconv.Itoa(p.Runs), Band: none, RateBand: none, On: p.remarks()}
				if p.capacity() {
					row.Pace = plan.NoPace + " (capacity)"
				}
				if b := p.Band; b != nil {
					row.Band = significant(b.CostLo) + ".." + significant(b.CostHi)
					if p.capacity() {
						row.RateBand = significant(b.GbpsLo) + ".." + significant(b.GbpsHi)
					}
				}
				if p.Units != p.Runs {
					row.Runs += " in " + plural(p.Units, r.Unit)
				}
				v.Rows = append(v.Rows, row)
			}
		}
		v.Rows = upTo(v.Rows, mostShown)
		out = append(out, v)
	}
	return out
}

// costRateName is the name of the figure, and of its file.
func costRateName(role ends.Role) string {
	if role == ends.TG {
		return "tg_cost_rate"
	}
	return "cost_rate"
}

// costRateFigures are the charts as files.
func costRateFigures(all []costRate) (out []Figure) {
	for i := range all {
		c := all[i].draw(fileWidth, fileHeight, false)
		out = append(out, Figure{Name: costRateName(c.Role), Title: c.Title(), Caption: c.caption(), SVG: c.file()})
	}
	return out
}

// writeCostRates prints where costs cross, and what missed its pace.
func writeCostRates(b *screen.Writer, all []costRate) {
	for i := range all {
		r := all[i].first(mostCurves)
		says := slices.Concat(upTo(r.sentences(), mostSaid), r.listed())
		if len(says) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nCost against rate, CPU time of the %s per GB (the curves: %s.svg)\n", hostOf(r.Role),
			costRateName(r.Role))
		for k, name := range r.numbered() {
			if name != r.Curves[k].Name {
				wrap(b, "  ", "    ", "curve "+name+": "+r.Curves[k].Name)
			}
		}
		for _, text := range says {
			wrap(b, "  - ", "    ", plaintext.Line(text))
		}
	}
}
