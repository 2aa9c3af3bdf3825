// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// Option is one thing that can be chosen of a run: a field of [Cell]. What is said here, once,
// is its flag, its key in experiment files and its name as a factor there, its column in
// runs.csv, its check and the message of that, and its line in the help and in docs/options.md.
type Option struct {
	Name    string   // in files and tables: rx_buf_len
	Flag    string   // on the command line; "": Name with - for _
	Column  string   // in runs.csv; "": Name
	Type    string   // of the value, in help: "bytes"
	Takes   string   // what it may be, in words
	Words   []string // all of them, where they are few
	words   func() []string
	Help    string // one line
	Default string // that commands choose; "": it is left to the kernel, the driver or the mode
	Kind    kind
	Role    stream.Role // whose it is; "": of both ends
	Sets    []string    // names of the settings that it gives a host (package wire)
	Also    string      // another option that the flag chooses too, unless that is given itself
	Since   int         // schema version of the first records that have it; 0: all have
	Many    string      // joins the values of a flag that may be given several times
	Places  bool        // it chooses CPUs or queues
	OfPlan  bool        // a key of plans says it for all cells, and that key has the flag
	Into    string      // begins a value whose rest is a folder; "": none does
	Plenty  Plenty      // of a size that a path may starve of, where plenty is; "": of none

	concerns func(stream.Mode) bool // nil: any mode
	besides  func(stream.Mode) bool // it means nothing where one of the modes is such; nil: none is
	why      string                 // then: the reason; "": it is plain
	instead  []string               // then: the options that say the same of such modes
	value    value
}

// kind is what an option is about.
type kind string

// The kinds of options.
const (
	OfModes kind = "mode" // rx and tx
	OfPath  kind = "path" // how a data path works: zcrecv and zcsend have it too
	OfHost  kind = "host" // set on hosts for the run, and put back
	ofRun   kind = "run"  // how a run is made
)

// Plenty is where among an option's sizes a path has plenty: the other end starves it.
type Plenty string

// Where plenty is.
const (
	More Plenty = "more" // of memory, of a ring
	Less Plenty = "less" // of what is kept back
	None Plenty = "none" // the same, and nothing is a size of it, too
)

// Size returns how large a cell has an option of which there may be plenty. ok is false where it is
// no such, or where that was left to the mode or the driver.
func (o *Option) Size(c *Cell) (n float64, ok bool) {
	raw := o.value.raw(c)
	if raw == "" && o.Plenty == None {
		return 0, true
	}
	n, err := strconv.ParseFloat(raw, 64)
	return n, err == nil && o.Plenty != "" && (n > 0 || o.Plenty == None)
}

// value is how a field of a cell is read and written.
type value struct {
	raw  func(*Cell) string // as columns have it; "" where nothing was chosen
	set  func(*Cell, string) error
	load func(*Cell, string) error // of what raw wrote, without asking whether it may be; nil: set
	show func(string) string       // for people; nil: raw
	zero func(*Cell)

	column    func(*Cell) string // what runs.csv has where that is not raw; nil: raw
	columnDoc string             // then
}

// OptionError is a value that an option cannot have.
type OptionError struct {
	Option *Option
	Value  string
	Err    error
	Whose  string // it concerns none of these modes; "": something else is wrong
}

func (e *OptionError) Error() string { return e.Option.Name + " " + e.Reason(false) }

// Reason formats the value and what is wrong with it; with flags it calls options by their flags.
func (e *OptionError) Reason(flags bool) string {
	if e.Whose != "" {
		return fmt.Sprintf("%s: it applies to %s, not to %s: %s", e.Value, e.Option.Whom(), e.Whose,
			e.Option.Instead(flags))
	}
	return fmt.Sprintf("%s: %v", e.Value, e.Err)
}

func (e *OptionError) Unwrap() error { return e.Err }

// AsFound is the value of an option that nobody sets.
const AsFound = "as-found"

// Factors are the options beside the two modes.
var Factors = Options[2:]

// LookupOption finds an option by its name; nil where there is none.
func LookupOption(name string) *Option {
	for i := range Options {
		if Options[i].Name == name {
			return &Options[i]
		}
	}
	return nil
}

// Raw formats a cell's value as runs.csv has it: plain numbers, true and false; "" if nothing was
// chosen.
func (o *Option) Raw(c *Cell) string { return o.value.raw(c) }

// Given reports whether a cell has another value than the one that commands choose.
func (o *Option) Given(c *Cell) bool {
	var d Cell
	if o.Default != "" {
		_ = o.Set(&d, o.Default)
	}
	v := o.Raw(c)
	return v != "" && v != o.Raw(&d)
}

// Value formats a cell's value for tables: "as-found" if nothing was chosen.
func (o *Option) Value(c *Cell) string {
	v := o.value.raw(c)
	switch {
	case o.value.show != nil:
		return o.value.show(v)
	case v == "":
		return AsFound
	}
	return v
}

// Set reads a value into a cell.
func (o *Option) Set(c *Cell, s string) error { return o.value.set(c, s) }

// Load reads what Raw wrote. What was measured is read also where it could not be chosen today.
func (o *Option) Load(c *Cell, raw string) error {
	if o.value.load != nil {
		return o.value.load(c, raw)
	}
	return o.value.set(c, raw)
}

// Clear leaves the option open.
func (o *Option) Clear(c *Cell) { o.value.zero(c) }

// FlagName returns the option's flag without its dashes.
func (o *Option) FlagName() string {
	if o.Flag != "" {
		return o.Flag
	}
	return strings.ReplaceAll(o.Name, "_", "-")
}

// ByWord finds the option that a word means, whether it is written as keys of files are or as
// flags: cpu_layout, cpu-layout and layout are one. Nil: none.
func ByWord(word string) *Option {
	key := strings.ReplaceAll(word, "-", "_")
	if o := LookupOption(key); o != nil {
		return o
	}
	for i := range Options {
		if o := &Options[i]; o.Flag != "" && strings.ReplaceAll(o.Flag, "-", "_") == key {
			return o
		}
	}
	return nil
}

// ColumnName returns the name of the option's column in runs.csv.
func (o *Option) ColumnName() string {
	if o.Column != "" {
		return o.Column
	}
	return o.Name
}

// ColumnText formats what the option's column has.
func (o *Option) ColumnText(c *Cell) string {
	if o.value.column != nil {
		return o.value.column(c)
	}
	return o.value.raw(c)
}

// Unit returns the unit of the option's column; "" for words.
func (o *Option) Unit() string {
	name := o.ColumnName()
	for _, x := range [][2]string{{"_bytes", "bytes"}, {"_us", "us"}, {"_bits_ps", "bit/s"}} {
		if strings.HasSuffix(name, x[0]) {
			return x[1]
		}
	}
	return ""
}

// Concerns reports whether the option means anything to one of the cell's modes.
func (o *Option) Concerns(c *Cell) bool { return o.concernsAny(c.modes()) }

func (o *Option) concernsAny(all []stream.Mode) bool {
	if o.besides != nil && slices.ContainsFunc(all, o.besides) {
		return false
	}
	return o.concerns == nil || slices.ContainsFunc(all, o.ConcernsMode)
}

// Choices lists all values if they are few; nil if they are not.
func (o *Option) Choices() []string {
	if o.words != nil {
		return o.words()
	}
	return o.Words
}

// ConcernsMode reports whether the option means anything to a mode.
func (o *Option) ConcernsMode(m stream.Mode) bool {
	if o.besides != nil && o.besides(m) {
		return false
	}
	return o.concerns == nil || (o.Role == "" || o.Role == m.Role) && o.concerns(m)
}

// Modes lists the names of the modes that the option concerns, or sums up all of a kind in a
// phrase; nil: all.
func (o *Option) Modes() (names []string) {
	if o.concerns == nil {
		return nil
	}
	if !slices.ContainsFunc(modes.All, func(m stream.Mode) bool {
		return (o.Role == "" || o.Role == m.Role) && o.concerns(m) != (m.Kind == stream.Stream)
	}) {
		return []string{"TCP modes"}
	}
	for _, m := range modes.All {
		if o.ConcernsMode(m) && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Instead suggests what to do if the option concerns none of a cell's modes; with flags it calls
// options by their flags.
func (o *Option) Instead(flags bool) string {
	var names []string
	for _, name := range o.instead {
		if flags {
			name = "--" + LookupOption(name).FlagName()
		}
		names = append(names, name)
	}
	why := o.why
	if why != "" {
		why += ": "
	}
	if names == nil {
		return why + "leave it out"
	}
	return why + "leave it out; for round trips there is " + strings.Join(names, ", ")
}

// Whom names the modes that the option concerns.
func (o *Option) Whom() string {
	whom := "all modes"
	if names := o.Modes(); names != nil {
		whom = strings.Join(names, ", ")
	}
	var not []string
	for _, m := range modes.All {
		if o.besides != nil && o.besides(m) && (o.concerns == nil || o.concerns(m)) {
			not = append(not, string(m.Role)+" "+m.Name)
		}
	}
	if len(not) == 0 {
		return whom
	}
	return whom + " but " + strings.Join(not, ", ")
}

// ColumnDoc describes the option's column of runs.csv, where that is not what was asked for; "".
func (o *Option) ColumnDoc() string { return o.value.columnDoc }
