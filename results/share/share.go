// SPDX-License-Identifier: MIT

// Package share makes of a results folder the one small file that others may see: what each cell
// measured, the proof of what was copied, and what the hosts are, without what tells whose they
// are. What is in it is listed here, name by name; what is not in a list stays at home. It also
// reads such files, which anybody may have written, and says what in them cannot be.
package share

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/stat"
)

// What a file calls itself. A schema that this program does not know is refused.
const (
	Format = "zcbench-share"
	Schema = 1
)

// Limits of a file.
const (
	MaxBytes    = 512 << 10
	maxCells    = 200
	maxFacts    = 200 // of a host
	maxSettings = 100 // of a cell
	maxFigures  = 16  // of an end
	maxFlags    = 40  // of a cell
	maxText     = 400 // bytes of a value
)

// File is what is shared of a results folder.
type File struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
	Tool   string `json:"tool_version"` // that measured
	Date   string `json:"date"`         // of the first run, UTC
	// OneMachine: both ends ran on one, so that no wire was between them.
	OneMachine bool   `json:"one_machine"`
	SUT        []Fact `json:"sut"` // what the receiver's host is, by name
	TG         []Fact `json:"tg"`  // the sender's
	Cells      []Cell `json:"cells"`
	LeftOut    int    `json:"cells_left_out,omitempty"` // beyond the most that a file has
}

// Fact is a name and its value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Cell is what the runs of a cell came to.
type Cell struct {
	Settings []Fact         `json:"settings"`           // those that were chosen, in the order of docs/matrix.md
	NotTold  []string       `json:"not_told,omitempty"` // names of those whose values stay at home
	Runs     Runs           `json:"runs"`
	HeldBy   plan.LimitedBy `json:"held_by,omitempty"` // not the receiver: it could do more
	Flags    []string       `json:"flags,omitempty"`   // marks of runs that count
	SUT      End            `json:"sut"`
	TG       End            `json:"tg"`
}

// Runs are those of a cell by verdict; warm-ups are none.
type Runs struct {
	OK          int `json:"ok"`
	Invalid     int `json:"invalid"`
	Expected    int `json:"expected,omitempty"` // of the invalid ones: they could be nothing else there
	Failed      int `json:"failed"`
	Unsupported int `json:"unsupported"`
}

// End is an end's half of a cell. Empty: it was not measured.
type End struct {
	Figures []Figure `json:"figures,omitempty"`
	Proof   *Proof   `json:"proof,omitempty"`
}

// Figure sums up a figure over the runs that count.
type Figure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	N      int    `json:"n"`
	Median Number `json:"median"`
	// Lo and Hi are the interval of the median, of at least 95 %; null where there are too few
	// runs.
	Lo  *Number `json:"lo"`
	Hi  *Number `json:"hi"`
	Min Number  `json:"min"`
	Max Number  `json:"max"`
}

// Proof is where the payload of the runs that count went, in bytes, by the kernel's count.
type Proof struct {
	ZeroCopy uint64 `json:"zero_copy_bytes"`
	Copied   uint64 `json:"copied_bytes"`
	// Linear was copied too; null where the kernel does not tell it apart.
	Linear *uint64 `json:"linear_bytes"`
}

// CopiedShare computes which fraction of the payload was copied.
func (p *Proof) CopiedShare() float64 {
	copied := float64(p.Copied)
	if p.Linear != nil {
		copied += float64(*p.Linear)
	}
	return copied / (copied + float64(p.ZeroCopy))
}

// Number is a figure as a file has it: with six digits, so that it is the same on every machine.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return []byte("null"), nil // the reader refuses it: no figure of ours is such
	}
	return []byte(strconv.FormatFloat(rounded(v), 'f', -1, 64)), nil
}

func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // of what it has just written
	return r
}

// shareable is a figure that is shared of an end.
type shareable struct {
	name, unit string
	of         func(*report.End) *stat.Summary
}

// figures are these, in the order of files.
var figures = []shareable{
	{"throughput_gbps", "Gbit/s", func(e *report.End) *stat.Summary { return e.ThroughputGbps }},
	{"cpu_busy_cores", "cores", func(e *report.End) *stat.Summary { return e.BusyCores }},
	{"cpu_app_cores", "cores", func(e *report.End) *stat.Summary { return e.AppCores }},
	{"cpu_sys_cores", "cores", func(e *report.End) *stat.Summary { return e.SysCores }},
	{"cpu_soft_cores", "cores", func(e *report.End) *stat.Summary { return e.SoftCores }},
	{"ns_per_kb", "ns/kB", func(e *report.End) *stat.Summary { return e.NsPerKB }},
	{"power_w", "W", func(e *report.End) *stat.Summary { return e.PowerW }},
	{"joule_per_gb", "J/GB", func(e *report.End) *stat.Summary { return e.JoulePerGB }},
	{"delivery_p99_us", "us", func(e *report.End) *stat.Summary { return e.DeliveryP99Us }},
	{"packets_per_s", "1/s", func(e *report.End) *stat.Summary { return e.PacketsPerS }},
	{"ns_per_packet", "ns", func(e *report.End) *stat.Summary { return e.NsPerPacket }},
	{"lost_share", "1", func(e *report.End) *stat.Summary { return e.LostShare }},
}

// Of makes the file of a journal that has been judged, and of the snapshots beside it.
func Of(j results.Journal, beside *environment.Folder) *File {
	s := report.Summarize(j)
	f := &File{Format: Format, Schema: Schema, Tool: plain(tool(&j)), Date: date(&j), OneMachine: oneMachine(j.Records),
		SUT: hostFacts(j.Records, ends.SUT, beside), TG: hostFacts(j.Records, ends.TG, beside), Cells: []Cell{}}
	flags := flagsOf(j.Records)
	for i := range s.Cells {
		if len(f.Cells) == maxCells {
			f.LeftOut = len(s.Cells) - maxCells
			break
		}
		f.Cells = append(f.Cells, cellOf(&s.Cells[i], flags[s.Cells[i].Cell.Key()]))
	}
	return f
}

func tool(j *results.Journal) string {
	for i := range j.Records {
		if v := j.Records[i].SUT.Env.ToolVersion; v != "" {
			return v
		}
	}
	return j.Header.ToolVersion
}

// date is that of the first run, or of the journal where no run says.
func date(j *results.Journal) string {
	ns := j.Header.CreatedUTCNs
	for i := range j.Records {
		if at := j.Records[i].StartUTCNs; at > 0 {
			ns = at
			break
		}
	}
	return time.Unix(0, ns).UTC().Format(time.DateOnly)
}

func oneMachine(recs []results.Record) bool {
	for i := range recs {
		if sut, tg := recs[i].SUT.Env.BootID, recs[i].TG.Env.BootID; sut != "" && tg != "" {
			return sut == tg
		}
	}
	return false
}

// flagsOf collects the marks of runs that count, of each cell.
func flagsOf(recs []results.Record) map[plan.CellKey]map[string]bool {
	out := map[plan.CellKey]map[string]bool{}
	for i := range recs {
		r := &recs[i]
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		k := r.Cell.Key()
		if out[k] == nil {
			out[k] = map[string]bool{}
		}
		for _, flag := range r.Flags {
			out[k][flag] = true
		}
	}
	return out
}

func cellOf(c *report.Cell, flags map[string]bool) Cell {
	out := Cell{SUT: endOf(&c.SUT), TG: endOf(&c.TG),
		Runs: Runs{OK: c.OK, Invalid: c.Invalid, Expected: c.Expected, Failed: c.Failed, Unsupported: c.Unsupported}}
	out.Settings, out.NotTold = settingsOf(&c.Cell)
	if knownLimit(c.HeldBy) {
		out.HeldBy = c.HeldBy
	}
	for _, m := range results.Marks { // in their order, and no other
		if flags[m.Flag] && len(out.Flags) < maxFlags {
			out.Flags = append(out.Flags, m.Flag)
		}
	}
	return out
}

func endOf(e *report.End) (out End) {
	for _, x := range figures {
		s := x.of(e)
		if s == nil {
			continue
		}
		out.Figures = append(out.Figures, Figure{Name: x.name, Unit: x.unit, N: s.N, Median: Number(s.Median),
			Lo: number(s.Lo), Hi: number(s.Hi), Min: Number(s.Min), Max: Number(s.Max)})
	}
	if p := e.Proof; p != nil {
		out.Proof = &Proof{p.ZeroCopy, p.Copied, p.Linear}
	}
	return out
}

func number(v *float64) *Number {
	if v == nil {
		return nil
	}
	return new(Number(*v))
}

// settingsOf lists what was chosen of a cell and may be told, and the names of what was besides.
func settingsOf(c *plan.Cell) (told []Fact, not []string) {
	for i := range plan.Options {
		o := &plan.Options[i]
		switch v := wordOf(o.Name, o.Raw(c)); {
		case v == "":
		case shared[o.Name] && len(v) <= maxText && !personal().MatchString(v):
			told = append(told, Fact{o.Name, v})
		default:
			not = append(not, o.Name)
		}
	}
	return told, not
}

// wordOf is what may be told of an option's value: of what the application does with the payload
// not in which folder.
func wordOf(name, value string) string {
	if name == "then" {
		value, _, _ = strings.Cut(value, ":")
	}
	return value
}

// Figure looks up a figure; nil: it was not measured.
func (e *End) Figure(name string) *Figure {
	for i := range e.Figures {
		if e.Figures[i].Name == name {
			return &e.Figures[i]
		}
	}
	return nil
}

// Setting looks up what was chosen; "": it was left as found.
func (c *Cell) Setting(name string) string { return valueOf(c.Settings, name) }

// Host looks up a fact of an end's host; "": it is not known.
func (f *File) Host(role ends.Role, name string) string {
	if role == ends.TG {
		return valueOf(f.TG, name)
	}
	return valueOf(f.SUT, name)
}

func valueOf(facts []Fact, name string) string {
	for _, x := range facts {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// Stem returns what the name of the file begins with: NIC driver, kernel, date.
func (f *File) Stem() string {
	var parts []string
	for _, x := range []string{f.Host(ends.SUT, "driver"), f.Host(ends.SUT, "kernel"), f.Date} {
		parts = append(parts, inName(cmp.Or(x, "unknown")))
	}
	return "zcbench-" + strings.Join(parts, "-")
}

// Name returns the name of the file.
func (f *File) Name() string { return f.Stem() + ".json" }

// inName keeps of a text what may be in the name of a file.
func inName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("._+", r)) {
			return r
		}
		return '-'
	}, s)
	return strings.TrimLeft(s[:min(len(s), 48)], ".-")
}

// Encode writes the file in its only form, a fact and a figure a line.
func (f *File) Encode() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		panic("share: a file is plain data: " + err.Error())
	}
	return spread(out.Bytes())
}

// spread breaks the lines of JSON: each element of a list and each key of an object has its own,
// but for objects without others in them.
func spread(text []byte) []byte {
	var whole bytes.Buffer
	if err := json.Indent(&whole, text, "", " "); err != nil {
		panic("share: what was encoded is JSON: " + err.Error())
	}
	var out bytes.Buffer
	lines := strings.Split(strings.TrimRight(whole.String(), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		open := strings.TrimRight(lines[i], " ")
		end := flat(lines, i)
		if end < 0 {
			out.WriteString(open + "\n")
			continue
		}
		out.WriteString(open)
		for k := i + 1; k <= end; k++ {
			if k > i+1 && k < end {
				out.WriteByte(' ')
			}
			out.WriteString(strings.TrimSpace(lines[k]))
		}
		out.WriteByte('\n')
		i = end
	}
	return out.Bytes()
}

// flat finds the end of the object or list that a line opens, where nothing is open within it; -1:
// there is something, or the line opens nothing.
func flat(lines []string, at int) int {
	if open := lines[at]; !strings.HasSuffix(open, "{") && !strings.HasSuffix(open, "[") {
		return -1
	}
	for k := at + 1; k < len(lines); k++ {
		line := strings.TrimSpace(lines[k])
		switch {
		case strings.HasSuffix(line, "{") || strings.HasSuffix(line, "["):
			return -1
		case strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]"):
			return k
		}
	}
	return -1
}
