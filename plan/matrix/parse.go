// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/tune"
)

// Limits of an experiment, so that a slip of a finger is told and not planned.
const (
	maxCells        = 10_000
	maxRepetitions  = 1_000
	maxCombinations = 100_000 // before those that are the same, or excluded, are left out
	maxExcludes     = 1_000
	maxRuns         = 100_000 // at 10 s each, 12 days
	mostCPU         = 65535
)

// New returns what holds where a file leaves something out. The gates are those of
// docs/statistics.md.
func New() *Spec {
	return &Spec{
		Plan: Plan{Repetitions: 10, Warmup: true, Seed: 1, Duration: 10 * time.Second, RampUp: time.Second,
			RampDown: 200 * time.Millisecond},
		Gates:  plan.DefaultGates(),
		Common: common{SampleInterval: 100 * time.Millisecond, Stall: 10 * time.Second},
	}
}

// Parse reads an experiment file. Its errors are *[Error] with line and column;
// name is what they call the file.
func Parse(name string, data []byte) (*Spec, error) { return parseNamed(name, data, false) }

// ParseWhole reads a file as [Parse] does, without what its `short` leaves out. A file that has no
// short version is an error.
func ParseWhole(name string, data []byte) (*Spec, error) { return parseNamed(name, data, true) }

func parseNamed(name string, data []byte, whole bool) (*Spec, error) {
	s, err := parse(data, whole)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.File = name
	}
	if err != nil {
		return nil, err
	}
	s.File, s.fileName = string(data), name
	return s, nil
}

func parse(data []byte, whole bool) (*Spec, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	s := New()
	x := expansion{spec: s}
	if err := readMap(root, wholeFile, s.fields(&x)); err != nil {
		return nil, err
	}
	if err := x.shorten(root, whole); err != nil {
		return nil, err
	}
	if s.Name == "" {
		return nil, at(root, "the experiment has no name")
	}
	if (s.SUT.Host == "") != (s.TG.Host == "") {
		return nil, at(root, "sut.host and tg.host must be given together; without them, two network namespaces "+
			"of this machine are used")
	}
	if err := s.checkAdaptive(root); err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(s.SUT.Addr); err == nil && a.Is6() != s.IPv6 && s.ipv6At != nil {
		return nil, at(s.ipv6At, "ipv6 is %v, and sut.addr is %s", s.IPv6, s.SUT.Addr)
	}
	if err := x.expand(root); err != nil {
		return nil, err
	}
	if err := s.checkLossFree(); err != nil {
		return nil, err
	}
	s.WantTurns()
	if err := s.checkTurns(root); err != nil {
		return nil, err
	}
	if err := s.spareCPUs(root); err != nil {
		return nil, err
	}
	return s, s.checkRuns(root)
}

// spareCPUs refuses CPUs of threads that no cell has, at their place.
func (s *Spec) spareCPUs(root ast.Node) error {
	for _, x := range []struct {
		name string
		role stream.Role
		end  *End
	}{{"sut", stream.RX, &s.SUT}, {"tg", stream.TX, &s.TG}} {
		if err := plan.SpareCPUs(x.role, x.end.ThreadCPUs(), s.Cells...); err != nil {
			return at(under(under(root, x.name), "cpu"), "%s.cpu: %v", x.name, err)
		}
	}
	return nil
}

// under looks up the value of a mapping's key, which has been read.
func under(n ast.Node, key string) ast.Node {
	pairs, err := mapping(n, key)
	if i := slices.IndexFunc(pairs, func(p pair) bool { return p.key == key }); err == nil && i >= 0 {
		return pairs[i].value
	}
	return n
}

func (s *Spec) checkRuns(root ast.Node) error { return placed(root, s.runsFit()) }

// placed gives an error the place in the file.
func placed(n ast.Node, err error) error {
	if err == nil {
		return nil
	}
	return at(n, "%v", err)
}

// runsFit refuses a plan that nobody could want to its end, before it is made.
func (s *Spec) runsFit() error {
	blocks := s.Repetitions
	if s.Warmup {
		blocks++
	}
	blocks *= s.Replays()
	runs := int64(blocks) * int64(len(s.Cells))
	if runs > maxRuns {
		return fmt.Errorf("%d cells, %d times each, make %d runs, more than the %d that a plan may have", len(s.Cells),
			blocks, runs, maxRuns)
	}
	if more := s.searches() * int64(s.Search().Trials); runs+more > maxRuns {
		return fmt.Errorf("%d searches for a rate without loss of up to %d trials each, with %d runs, are more "+
			"than the %d runs that a plan may have: lower loss_free.trials", s.searches(), s.Search().Trials, runs,
			maxRuns)
	}
	return nil
}

func (s *Spec) checkAdaptive(root ast.Node) error { return placed(root, s.adaptiveFits()) }

func (s *Spec) adaptiveFits() error {
	if s.Adaptive == nil {
		return nil
	}
	if err := s.Adaptive.check(); err != nil {
		return err
	}
	if s.Again > 0 {
		return errors.New("adaptive and replays cannot be combined: a cell that ends early would have no runs in " +
			"the later replays")
	}
	if s.Adaptive.Min > s.Repetitions {
		return fmt.Errorf("adaptive.min %d exceeds the %d repetitions", s.Adaptive.Min, s.Repetitions)
	}
	return nil
}

func (s *Spec) fields(x *expansion) []field {
	return append([]field{
		{"name", read(&s.Name, parseFileName)},
		{"description", read(&s.Description, parseText)},
		{"sut", func(n ast.Node) error { return readMap(n, "sut", s.SUT.fields(x)) }},
		{"tg", func(n ast.Node) error { return readMap(n, "tg", s.TG.fields(nil)) }},
		{"factors", x.factors},
		{"include", x.include},
		{"exclude", x.exclude},
		{"short", x.readShort},
		{"baseline", x.baseline},
		{"compare", x.compare},
		{"purpose", read(&s.Purpose, parsePurpose)},
		{"adaptive", s.adaptive},
		{"gates", s.gates},
		{"loss_free", s.lossFree},
	}, slices.Concat(s.keys(), s.forAll(x), s.Power.fields())...)
}

func (e *End) fields(sut *expansion) []field {
	out := []field{
		{"host", e.host},
		{"dev", e.devs},
		{"cpu", e.cpus},
		{"node", read(&e.Node, ParseNode)},
		{"layouts", e.layouts},
		{"settings", func(n ast.Node) error { return readMap(n, "settings", e.Settings.fields()) }},
	}
	if sut != nil {
		out = append(out, field{"addr", read(&e.Addr, parseAddr)})
		for _, name := range []string{"queue", "area", "area_bytes"} {
			out = append(out, sut.option(plan.LookupOption(name), true))
		}
	}
	return out
}

func (e *End) host(n ast.Node) error {
	e.HostAt.Line, e.HostAt.Column = position(n.GetToken())
	return read(&e.Host, parseText)(n)
}

// NameHost sets the host that a flag names.
func (e *End) NameHost(host string) { e.Host, e.HostAt = host, At{} }

// cpus reads one CPU, or a list of them for the threads of several flows.
// devs reads an interface, or several.
func (e *End) devs(n ast.Node) error {
	var all []string
	for _, one := range list(n) {
		var dev string
		if err := read(&dev, joinedDevs)(one); err != nil {
			return err
		}
		all = append(all, dev)
	}
	if len(all) == 0 {
		return at(n, "dev: a list without an interface")
	}
	e.Dev = strings.Join(all, ",")
	if _, err := Devs(e.Dev); err != nil {
		return at(n, "%v", err)
	}
	return nil
}

func (e *End) cpus(n ast.Node) error {
	var all []int
	for _, one := range list(n) {
		var cpu int
		least := -1
		if len(list(n)) > 1 {
			least = 0 // of several threads all are pinned, or none
		}
		if err := read(&cpu, within(least, mostCPU))(one); err != nil {
			return err
		}
		all = append(all, cpu)
	}
	if len(all) == 0 {
		return at(n, "cpu: a list without a CPU")
	}
	e.NameCPUs(all)
	return nil
}

// NameCPUs sets the CPUs of the threads of the end's flows, in turn.
func (e *End) NameCPUs(all []int) {
	if e.CPU, e.CPUs = &all[0], nil; len(all) > 1 {
		e.CPUs = all
	}
}

// ThreadCPUs returns the threads' CPUs that were named; nil: none were.
func (e *End) ThreadCPUs() []int {
	if len(e.CPUs) == 0 && e.CPU != nil {
		return []int{*e.CPU}
	}
	return e.CPUs
}

func (e *End) layouts(n ast.Node) error {
	e.Layouts = map[string]Layout{}
	pairs, err := mapping(n, "layouts")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if p.key != "1cpu" && p.key != "2cpu" {
			return at(p.node, unknownLayout, p.key)
		}
		l := Layout{-1, -1}
		err := readMap(p.value, "layout "+p.key, []field{{"app", read(&l.App, within(0, mostCPU))},
			{"irq", read(&l.IRQ, within(0, mostCPU))}})
		if err != nil {
			return err
		}
		if err := l.check(p.key); err != nil {
			return at(p.value, "%v", err)
		}
		e.Layouts[p.key] = l
	}
	return nil
}

const unknownLayout = "unknown layout %.40q: want 1cpu or 2cpu"

// check refuses a layout that is not what its name says.
func (l Layout) check(name string) error {
	switch {
	case name != "1cpu" && name != "2cpu":
		return fmt.Errorf(unknownLayout, name)
	case l.App < 0 || l.IRQ < 0:
		return fmt.Errorf("layout %s needs both app and irq", name)
	case l.App > mostCPU || l.IRQ > mostCPU || (l.App == l.IRQ) != (name == "1cpu"):
		return fmt.Errorf("layout %s has app on CPU %d and irq on CPU %d", name, l.App, l.IRQ)
	}
	return nil
}

// sysctls reads sysctls, and takes only those of the list that package tune keeps: whoever runs a
// file is often not who wrote it, and runs it as root.
func (s *Settings) sysctls(n ast.Node) error {
	s.Sysctl, s.sysctlAt = map[string]string{}, map[string]At{}
	pairs, err := mapping(n, "sysctl")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := tune.CheckSysctl(p.key); err != nil {
			return at(p.node, "%v", refusal(err))
		}
		v, err := scalar(p.value)
		if err != nil {
			return err
		}
		if err := tune.CheckSetting("sysctl "+p.key, v); err != nil {
			return at(p.value, "%v", err)
		}
		line, column := position(p.node.GetToken())
		s.Sysctl[p.key], s.sysctlAt[p.key] = v, At{line, column}
	}
	return nil
}

// refusal formats an error with what to do about it, if it says so.
func refusal(err error) string {
	if fix := fault.Fix(err); fix != "" {
		return err.Error() + "; " + fix
	}
	return err.Error()
}

func (s *Spec) adaptive(n ast.Node) error {
	s.Adaptive = &Adaptive{Min: 6}
	err := readMap(n, "adaptive", []field{
		{"min", read(&s.Adaptive.Min, within(1, maxRepetitions))},
		{"interval", read(&s.Adaptive.Interval, parseFraction)},
	})
	if err != nil {
		return err
	}
	return placed(n, s.Adaptive.check())
}

// check refuses intervals that nobody can have.
func (a *Adaptive) check() error {
	switch {
	case !(a.Interval > 0 && a.Interval <= 1):
		return fmt.Errorf("adaptive needs interval, such as 1%%: a cell is done when its interval is within this " +
			"distance of the median")
	case a.Min < 6:
		return fmt.Errorf("adaptive.min %d: fewer than 6 runs give no interval", a.Min)
	}
	return nil
}

func parseText(s string) (string, error) {
	if s == "" {
		return "", errors.New("empty")
	}
	return s, nil
}

func parseAddr(s string) (string, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return "", fmt.Errorf("%q is not an IP address", s)
	}
	return a.Unmap().String(), nil
}

// parseFileName reads a word that becomes the name of a folder, in out/: it must not
// lead elsewhere, be hidden, or look like a flag.
func parseFileName(s string) (string, error) {
	const most = 100
	if s == "" || len(s) > most || strings.ContainsAny(s, "/\\") || strings.ContainsFunc(s, unicode.IsSpace) ||
		strings.ContainsAny(s[:1], ".-~") {
		return "", fmt.Errorf(
			"%.*q is not a name: want one word of at most %d bytes without slashes, not starting with a dot, - or ~",
			most, s, most)
	}
	return s, nil
}

// parseDev reads the name of an interface (dev_valid_name of net/core/dev.c).
func parseDev(s string) (string, error) {
	if s == "" || len(s) > 15 || s == "." || s == ".." || strings.ContainsAny(s, "/:") ||
		strings.ContainsFunc(s, unicode.IsSpace) {
		return "", fmt.Errorf("%.40q is not the name of an interface", s)
	}
	return s, nil
}

// mostDevs bounds the interfaces of an end.
const mostDevs = 64

// Devs reads the interfaces of an end: eth0, or several as eth0,eth1.
func Devs(s string) ([]string, error) {
	all := strings.Split(s, ",")
	for i, dev := range all {
		if _, err := parseDev(dev); err != nil {
			return nil, err
		}
		if slices.Contains(all[:i], dev) {
			return nil, fmt.Errorf("interface %s is named twice", dev)
		}
	}
	if len(all) > mostDevs {
		return nil, fmt.Errorf("%d interfaces, at most %d", len(all), mostDevs)
	}
	return all, nil
}

func joinedDevs(s string) (string, error) {
	_, err := Devs(s)
	return s, err
}

func within(lo, hi int) func(string) (int, error) {
	return func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a whole number", s)
		case v < lo || v > hi:
			return 0, fmt.Errorf("%d is outside %d..%d", v, lo, hi)
		}
		return v, nil
	}
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", s)
}

func parseSeed(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0", s)
	}
	return v, nil
}

const mostDuration = 24 * time.Hour

func duration(least time.Duration) func(string) (time.Duration, error) {
	return durationWithin(least, mostDuration)
}

func durationWithin(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a duration such as 100s or 800ms", s)
		case d < least || d > most:
			return 0, fmt.Errorf("%v is outside %v..%v", d, least, most)
		}
		return d, nil
	}
}

// parseFraction reads 2% or 0.02.
func parseFraction(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := parseNumber(strings.TrimSpace(number))
	if err != nil {
		return 0, fmt.Errorf("%q is not a fraction such as 2%% or 0.02", s)
	}
	if percent {
		v /= 100
	}
	if v > 1 {
		return 0, fmt.Errorf("%s is more than 100 %%", s)
	}
	return v, nil
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%q is not a number from 0", s)
	}
	return v, nil
}
