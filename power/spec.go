// SPDX-License-Identifier: MIT

package power

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Spec names a source: NAME, NAME=TARGET, and options after a question mark,
// NAME=TARGET?key=value&key=value. The prefixes "sut:" and "tg:" are for one of
// the two hosts only.
type Spec struct {
	Host    ends.Role // "" for both
	Name    string    // a key of Kinds
	Target  string
	Options url.Values
}

// String formats the source as results name it: its target without options, or its option name. A
// command is named by its program: its arguments may be nobody's business.
func (s Spec) String() string {
	target := s.Target
	switch {
	case s.Options.Get("name") != "":
		target = s.Options.Get("name")
	case s.Name == "command":
		target = program(s.Target)
	}
	if target == "" {
		return s.Name
	}
	return s.Name + "=" + target
}

var (
	programName = lazy.Regexp(`^(\[|[A-Za-z0-9._+-]{1,64})$`)
	assignment  = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*=[^"'$` + "`" + `\\]*$`)
)

// program extracts the name of the program that a shell's command begins with, after the variables
// that are set for it; "" where that is not plain to see: what is taken for it could be a secret.
func program(command string) string {
	for word := range strings.FieldsSeq(command) {
		if assignment().MatchString(word) {
			continue
		}
		if word = word[strings.LastIndexByte(word, '/')+1:]; programName().MatchString(word) {
			return word
		}
		break
	}
	return ""
}

// full formats the spec as it was given, with its options.
func (s Spec) full() string {
	text := s.Name
	if s.Target != "" {
		text += "=" + s.Target
	}
	if len(s.Options) == 0 {
		return text
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		out = append(out, k+"="+s.Options.Get(k))
	}
	return text + "?" + strings.Join(out, "&")
}

// given quotes a spec as a shell takes it after --power: meters and instruments name themselves,
// and options are joined by what a shell acts on. A question mark and a number sign within a word
// are as they are.
func given(spec string) string {
	if plain := strings.NewReplacer("?", "", "#", "").Replace(spec); plaintext.Word(plain) == plain {
		return spec
	}
	return plaintext.Word(spec)
}

// Public formats the spec as it was given, with its host and options, but of a command only the
// program: its arguments may be secret. Four hexadecimal digits of their hash tell two commands
// apart.
func (s Spec) Public() string {
	if s.Name == "command" {
		sum := sha256.Sum256([]byte(s.Target))
		s.Target = fmt.Sprintf("%s#%x", program(s.Target), sum[:2])
	}
	if s.Host != "" {
		return string(s.Host) + ":" + s.full()
	}
	return s.full()
}

// MarshalText writes the spec without its host.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.full()), nil }

// UnmarshalText reads what [ParseSpec] reads.
func (s *Spec) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSpec(string(b))
	return err
}

// InBand reports whether the source is read on the host itself, by its agent.
// The others are read by the controller, over its own network and with its own
// secrets.
func (s Spec) InBand() bool { return kinds[s.Name].inBand }

// OneMachine reports whether the source is read by the controller and yet sees
// one machine alone, and never two.
func (s Spec) OneMachine() bool { return kinds[s.Name].oneMachine }

// SameInstrument reports whether two specs read the same thing, on one host:
// what they are called and how well it is known does not count.
func (s Spec) SameInstrument(o Spec) bool { return s.instrument() == o.instrument() }

func (s Spec) instrument() string {
	s.Options = maps.Clone(s.Options)
	for _, name := range append(slices.Clone(commonOptions), secretsOption) {
		delete(s.Options, name)
	}
	return s.full()
}

// ParseSpec reads a spec. No text of it is repeated in an error where it could
// hold a secret.
func ParseSpec(text string) (Spec, error) {
	var s Spec
	rest := text
	for _, h := range ends.Roles {
		if r, ok := strings.CutPrefix(rest, string(h)+":"); ok {
			s.Host, rest = h, r
		}
	}
	rest, options, hasOptions := cutOptions(rest)
	s.Name, s.Target, _ = strings.Cut(rest, "=")
	k, ok := kinds[s.Name]
	if !ok {
		return s, fmt.Errorf("power source %s: unknown%s", plainName(s.Name),
			near.Instead(s.Name, "sources", names()))
	}
	if hasOptions {
		s.Options = url.Values{}
		for o := range strings.SplitSeq(options, "&") {
			key, value, _ := strings.Cut(o, "=")
			s.Options.Add(key, value)
		}
	}
	for name, values := range s.Options {
		if !slices.Contains(k.options, name) && !slices.Contains(commonOptions, name) {
			return s, fmt.Errorf("power source %s: unknown option %q%s", s.Name, name,
				near.Instead(name, "options", append(slices.Clone(k.options), commonOptions...)))
		}
		if len(values) != 1 {
			return s, fmt.Errorf("power source %s: option %s is given %d times", s.Name, name, len(values))
		}
	}
	if _, err := s.uncertainty(0); err != nil {
		return s, err
	}
	if text := s.Options.Get("averages"); text != "" {
		if d, err := time.ParseDuration(text); err != nil || d == 0 || averages(d) != d {
			return s, fmt.Errorf("power source %s: averages %q: must be a time from %v to %v, such as 1s", s.Name, text,
				leastAverage, mostAverage)
		}
	}
	if k.check != nil {
		if err := k.check(s); err != nil {
			return s, fmt.Errorf("power source %s: %w", s.Name, err)
		}
	}
	return s, nil
}

// plainName quotes a name that was mistyped; a command in its place is not repeated.
func plainName(name string) string {
	if len(name) > 20 || !programName().MatchString(name) {
		return "of an unknown kind"
	}
	return strconv.Quote(name)
}

// cutOptions splits at the last question mark that options follow: a command or
// a URL may hold others.
func cutOptions(text string) (rest, options string, found bool) {
	i := strings.LastIndexByte(text, '?')
	if i < 0 || !strings.Contains(text[i:], "=") {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// commonOptions are those of every source.
var commonOptions = []string{"uncertainty", "averages", "name"}

// uncertainty parses the option of that name, "1%" or "0.01", else returns def.
func (s Spec) uncertainty(def float64) (float64, error) {
	text := s.Options.Get("uncertainty")
	if text == "" {
		return def, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return 0, fmt.Errorf("power source %s: uncertainty %q: must be a fraction of the reading, such as 1%% or 0.01",
			s.Name, text)
	}
	return v, nil
}

// declared returns the uncertainty that the user gave, else def.
func (s Spec) declared(def float64) float64 {
	v, err := s.uncertainty(def)
	if err != nil {
		return math.NaN()
	}
	return v
}

// averages returns over how long the user says that the instrument averages, or how long it takes
// to follow; 0: it is not said.
func (s Spec) averages() time.Duration {
	d, _ := time.ParseDuration(s.Options.Get("averages"))
	return averages(d)
}

// optionList splits an option that may name several into its words.
func optionList(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '+' || c == ';' })
}

// numbersFrom parses the numbers of an option, each once and none below least; nil where it is not
// given.
func numbersFrom(s Spec, name string, least int) ([]string, error) {
	list := optionList(s.Options.Get(name))
	form := fmt.Sprintf("must be a number from %d, or several joined by a semicolon", least)
	if len(list) == 0 && s.Options.Has(name) {
		return nil, fmt.Errorf("%s is empty: it %s", name, form)
	}
	for i, n := range list {
		if v, err := strconv.Atoi(n); err != nil || v < least {
			return nil, fmt.Errorf("%s %q: %s", name, n, form)
		}
		if slices.Contains(list[:i], n) {
			return nil, fmt.Errorf("%s %s is named twice and would be counted twice", name, n)
		}
	}
	return list, nil
}

// sourceKind is how sources of one name are made.
type sourceKind struct {
	inBand bool
	// oneMachine is set for a source that is not in band and sees one machine.
	oneMachine bool
	summary    string
	example    string
	options    []string
	check      func(Spec) error
	// reaches is what the spec's own words lead to. A kind without it counts as one
	// that runs a program.
	reaches func(Spec) []Reach
	open    func(Spec) (Source, error)
	// learns is set for a source that finds out by reading what of it adds up.
	learns bool
	// survey says what is there without being told where; nil for a source that
	// needs a target.
	survey func() (found info, err error)
}

// surveyed describes a source that was opened only to see it, and closes it.
func surveyed(src Source, err error) (info, error) {
	if err != nil {
		return info{}, err
	}
	defer src.Close()
	return src.Info(), nil
}

var kinds map[string]sourceKind

func init() { // open functions name each other
	kinds = map[string]sourceKind{
		"rapl":     raplKind,
		"hwmon":    hwmonKind,
		"ipmi":     ipmiKind,
		"redfish":  redfishKind,
		"snmp":     snmpKind,
		"nvml":     nvmlKind,
		"ptdaemon": ptdaemonKind,
		"scpi":     scpiKind,
		"command":  commandKind,
		"csv":      csvKind,
	}
}

// names lists the sources.
func names() []string {
	var out []string
	for n := range kinds {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Open makes the source of a spec.
func Open(s Spec) (Source, error) {
	k, ok := kinds[s.Name]
	if !ok {
		return nil, fmt.Errorf("power source %q: unknown%s", s.Name, near.Instead(s.Name, "sources", names()))
	}
	src, err := k.open(s)
	if err != nil {
		return nil, fmt.Errorf("power source %s: %w", s, err)
	}
	if no := src.Info().NoSum; no != nil && !k.learns {
		src.Close()
		return nil, fmt.Errorf("power source %s: %w", s, no)
	}
	return src, nil
}

// Found is what a survey found of one source.
type Found struct {
	Name    string
	Summary string
	Example string
	// Target is set for a source that must be told where its instrument is:
	// then nothing was looked for.
	Target bool
	Here   string // what is there
	Doubt  string // what is in doubt about it: it may give no figure, or a flagged one
	Why    string // why there is nothing
	Fix    string
}

// Survey looks for the sources that need not be told where to look, and lists
// the others.
func Survey() []Found {
	var out []Found
	for _, n := range names() {
		k := kinds[n]
		f := Found{Name: n, Summary: k.summary, Example: k.example, Target: k.survey == nil}
		if k.survey != nil {
			info, err := k.survey()
			f.Here, f.Doubt = info.Device, strings.Join(info.Doubts, "; ")
			if err != nil {
				f.Why, f.Fix = err.Error(), fixOf(err)
			}
			if no := info.NoSum; no != nil {
				f.Doubt, f.Fix = no.Why, no.How
			}
		}
		out = append(out, f)
	}
	return out
}

func formatWatts(w float64) string { return strconv.FormatFloat(w, 'g', 6, 64) }
