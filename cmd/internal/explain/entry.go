// SPDX-License-Identifier: MIT

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results/metrics"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Entry is one thing that has a name.
type Entry struct {
	Kind  string // one of [Kinds]
	Name  string
	Lines []string // what the program's own lists say
	// pages are those that are looked at first for what the docs say of it; nil: all.
	pages []string
}

// Title formats how the entry is chosen: rx:tcp.
func (e *Entry) Title() string { return e.Kind + ":" + e.Name }

// Flag is a flag of a command, as it is defined.
type Flag struct{ Name, Command, Usage string }

// Kinds are the kinds of entries, in their order.
var Kinds = []string{"rx", "tx", "flag", "metric", "column", "gate", "rule", "mark", "limit", "verdict", "errno"}

// entries makes an entry of everything that has a name, from the lists that define them.
func entries(flags []Flag) (out []Entry) {
	out = append(out, modeEntries()...)
	out = append(out, flagEntries(flags)...)
	for _, s := range metrics.Sections {
		for _, d := range s.Metrics {
			units := strings.Fields(d.Units)
			for i, name := range strings.Fields(d.Names) {
				out = append(out, Entry{"metric", name, lines(d.Meaning, "unit", unitText(units[min(i, len(units)-1)]),
					"source", d.Source), []string{"metrics.md"}})
			}
		}
	}
	for _, d := range results.ColumnDocs {
		for name := range strings.FieldsSeq(d.Names) {
			out = append(out, Entry{"column", name, lines("of runs.csv: "+d.Meaning, "unit", unitText(d.Unit)),
				[]string{"columns.md", "schema.md"}})
		}
	}
	for _, l := range plan.Limits {
		out = append(out, Entry{"gate", l.Key, lines(l.Name+"; "+l.Judged, append([]string{"limit", limitText(l)},
			asMark(l.Key)...)...), []string{"gates.md"}})
	}
	out = append(out, ruleEntries()...)
	for _, m := range results.Marks {
		if !m.OfGate() { // else the gate's entry says it
			out = append(out, Entry{"mark", m.Flag, lines("flag of a run: "+m.Means, "what to do", m.Do, "looks at",
				looksAt(m.Flag), "page", "docs/"+m.Page), []string{m.Page, marksPage}})
		}
	}
	for _, l := range plan.Limiters {
		out = append(out, Entry{"limit", string(l.By), lines("limit of a run: "+l.Means, "what takes it away", l.Do),
			[]string{"comparable.md", marksPage}})
	}
	out = append(out, verdicts...)
	for n := 1; n < 200; n++ {
		for _, name := range errnoNames(unix.Errno(n)) {
			out = append(out, Entry{"errno", name, []string{fmt.Sprintf("errno %d: %v", n, unix.Errno(n))},
				[]string{errorsPage, "zcrx.md", "devmem.md", "tcp-mmap.md", "nics.md", "drivers.md"}})
		}
	}
	return out
}

// ruleEntries makes an entry of each rule that runs are judged by and that is neither a gate nor a
// mark, whose entries say it.
func ruleEntries() (out []Entry) {
	for _, r := range judge.Rules() {
		if slices.ContainsFunc(plan.Limits, func(l plan.Limit) bool { return l.Key == r.Name }) ||
			results.MarkOf(r.Name) != nil {
			continue
		}
		asks := "the controller, of what both ends said"
		if r.AtEnd {
			asks = "each end, of its part of the run"
		}
		class := ""
		if r.Class != "" {
			class = fmt.Sprintf("invalid, by a gate of the class %s (docs/gates.md)", r.Class)
		}
		out = append(out, Entry{"rule", r.Name, lines("rule that runs are judged by: it looks at "+r.Looks,
			"asked by", asks, "a run that breaks it", class), []string{"gates.md", marksPage}})
	}
	return out
}

// looksAt returns what the rule that sets a mark looks at; "": no rule does.
func looksAt(flag string) string {
	for _, r := range judge.Rules() {
		if r.Name == flag && !r.AtEnd {
			return r.Looks
		}
	}
	return ""
}

// marksPage has tables of marks and limits, which say what the entries do.
const marksPage = "read-a-report.md"

// asMark lists what a gate's flag means on runs that count, and what to do; nil: it marks none.
func asMark(key string) []string {
	if m := results.MarkOf(key); m != nil {
		return []string{"as a flag of a run", m.Means, "what to do", m.Do}
	}
	return nil
}

// errorsPage has what each error number means, by call.
const errorsPage = "errors.md"

// errnoNames returns the names of an error number: two have a second one, which the docs use.
func errnoNames(e unix.Errno) []string {
	switch e {
	case unix.EOPNOTSUPP:
		return []string{"EOPNOTSUPP", "ENOTSUP"}
	case unix.EAGAIN:
		return []string{"EAGAIN", "EWOULDBLOCK"}
	}
	if name := unix.ErrnoName(e); name != "" {
		return []string{name}
	}
	return nil
}

// lines joins a text and the facts about it, by name, as far as there are any.
func lines(text string, facts ...string) []string {
	out := []string{text}
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			out = append(out, facts[i]+": "+facts[i+1])
		}
	}
	return out
}

func unitText(unit string) string {
	switch unit {
	case "1":
		return "a number"
	case measure.UnitByName:
		return "by its name"
	}
	return unit
}

func limitText(l plan.Limit) string {
	switch {
	case l.Default == 0:
		return "off unless set"
	case l.Share:
		return fmt.Sprintf("%g %%", 100*l.Default)
	}
	return fmt.Sprintf("%g%s", l.Default, l.Unit)
}

func modeEntries() (out []Entry) {
	for _, m := range modes.All {
		var needs []string
		for _, n := range m.Needs {
			needs = append(needs, string(n))
		}
		promise := "none: the kernel may copy the payload"
		switch {
		case m.Has(stream.ZeroCopy):
			promise = "zero copy: a run whose payload the kernel copied is invalid"
		case m.Kind == stream.Frame || m.Has(stream.NoPayload):
			promise = "" // no application gets the payload
		}
		here := ""
		if m.Has(stream.CopiedHere) {
			here = "always copied"
		}
		kernel := ""
		if m.Kernel != "" {
			kernel = "from Linux " + m.Kernel + " on"
		}
		what := map[stream.Role]string{stream.RX: "receive mode: ", stream.TX: "send mode: "}[m.Role]
		out = append(out, Entry{string(m.Role), m.Name, lines(what+m.Summary, "promise", promise, "kernel", kernel,
			"needs", strings.Join(needs, ", "), "over veth and loopback", here), modePages(m.Name)})
	}
	return out
}

// modePages lists the pages about a mode: one that is named after it, and those that compare modes.
func modePages(name string) []string {
	return []string{name + ".md", strings.TrimSuffix(name, "-nodev") + ".md", "packets.md", "xdp.md", "round-trips.md",
		"nics.md", "drivers.md", "reference.md", "metrics.md", "statistics.md", "comparable.md", "matrix.md",
		"options.md"}
}

// flagEntries makes an entry of each flag name, with all commands that have it.
func flagEntries(flags []Flag) (out []Entry) {
	at := map[string]int{}
	for _, f := range flags {
		i, known := at[f.Name]
		if !known {
			i, at[f.Name] = len(out), len(out)
			out = append(out, Entry{"flag", f.Name, nil, []string{"options.md", "matrix.md", "settings.md", "hosts.md",
				"hosts-reference.md", "power.md", "power-sources.md", "probes.md", "zcrx.md", "devmem.md"}})
			if o := optionOf(f.Name); o != nil {
				out[i].Lines = lines(o.Help, "takes", o.Takes, "default", o.Default, "modes",
					strings.Join(o.Modes(), ", "),
					"in experiment files", o.Name, "in runs.csv", o.ColumnName())
			} else if k := keyOf(f.Name); k != nil {
				out[i].Lines = lines(k.Help, "in experiment files", k.Name)
			}
		}
		e := &out[i]
		usage := f.Usage
		if len(e.Lines) > 0 && strings.HasPrefix(usage, e.Lines[0]) {
			usage = "as above"
		}
		e.Lines = append(e.Lines, f.Command+" --"+f.Name+": "+usage)
	}
	for i := range out {
		out[i].Lines = joined(out[i].Lines)
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// joined merges what several commands say alike: "zcbench run, zcbench demo: ...".
func joined(all []string) (out []string) {
	at := map[string]int{}
	for _, l := range all {
		who, what, ok := strings.Cut(l, ": ")
		command, _, isFlag := strings.Cut(who, " --")
		if !ok || !isFlag || !strings.HasPrefix(command, "zcbench ") { // a help text may name a flag, too
			out = append(out, l)
			continue
		}
		if i, said := at[what]; said {
			before, after, _ := strings.Cut(out[i], ": ")
			out[i] = before + ", " + command + ": " + after
			continue
		}
		at[what] = len(out)
		out = append(out, command+": "+what)
	}
	return out
}

func optionOf(flag string) *plan.Option {
	for i := range plan.Options {
		if plan.Options[i].FlagName() == flag {
			return &plan.Options[i]
		}
	}
	return nil
}

func keyOf(flag string) *matrix.Key {
	for i := range matrix.Keys {
		if matrix.Keys[i].Flag == flag {
			return &matrix.Keys[i]
		}
	}
	return nil
}

// verdicts are those of runs, and of comparisons.
var verdicts = []Entry{
	{"verdict", string(results.OK), []string{"of a run: it passed every gate, so it counts"}, verdictPages},
	{"verdict", string(results.Unsupported),
		[]string{"of a run: it cannot run here; the reason names the call that was refused, and the fix says " +
			"what to do"}, verdictPages},
	{"verdict", string(results.Invalid),
		[]string{"of a run: it ran, but a gate or a proof failed, so its figures do not count; the reason says which"},
		verdictPages},
	{"verdict", string(results.Failed), []string{"of a run: an error ended it; the reason is that error"},
		verdictPages},
	{"verdict", string(compare.Faster),
		[]string{"of a comparison: significantly more throughput (p < 0.05 after correction)"}, comparePages},
	{"verdict", string(compare.Slower),
		[]string{"of a comparison: significantly less throughput (p < 0.05 after correction)"}, comparePages},
	{"verdict", string(compare.Higher), []string{"of a comparison: significantly more return on cost (ROI)"},
		comparePages},
	{"verdict", string(compare.Lower), []string{"of a comparison: significantly less return on cost (ROI)"},
		comparePages},
	{"verdict", string(compare.Cheaper),
		[]string{"of a comparison: significantly less of a cost, such as CPU time per byte"}, comparePages},
	{"verdict", string(compare.Costlier), []string{"of a comparison: significantly more of a cost"}, comparePages},
	{"verdict", string(compare.Unsure),
		[]string{"of a comparison: the runs show no difference; that does not mean equal"}, comparePages},
}

var (
	verdictPages = []string{"gates.md", "columns.md", "schema.md", "glossary.md", "statistics.md"}
	comparePages = []string{"statistics.md", "glossary.md"}
)
