// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/machine/counter"
)

var raplKind = sourceKind{inBand: true, summary: "energy counters of the CPU packages and their memory (powercap)",
	example: "rapl",
	reaches: opens("root"),
	options: []string{"root", "scope", "zone"},
	learns:  true,
	check:   checkRAPL,
	open: func(s Spec) (Source, error) {
		if err := checkRAPL(s); err != nil {
			return nil, err
		}
		scope, _ := raplScope(s)
		r, err := openRAPL(raplRoot(s), s.declared(raplUncertainty), scope,
			optionList(s.Options.Get("zone"))...)
		if err != nil {
			return nil, err
		}
		r.info.Name = s.String()
		return r, nil
	},
	survey: func() (info, error) {
		r, err := openRAPL(raplRoot(Spec{}), raplUncertainty, "")
		if err != nil {
			return info{}, err
		}
		defer r.Close()
		r.learn(raplLearn)
		return r.info, nil
	}}

func checkRAPL(s Spec) error {
	if s.Options.Has("zone") && s.Options.Has("scope") {
		return errors.New("give zone or scope: the zones that are named are all that is summed")
	}
	if s.Options.Has("zone") && len(optionList(s.Options.Get("zone"))) == 0 {
		return errors.New(
			"zone is empty: it must be a zone's name, such as package-0, or several joined by a semicolon")
	}
	_, err := raplScope(s)
	return err
}

// raplLearn is how long a survey watches counters that may be one.
const raplLearn = time.Second

// raplUncertainty is what comparisons with wall meters find, beside a constant
// difference: RAPL is no calibrated meter.
const raplUncertainty = 0.05

// raplPoll is the longest time between two reads that is sure to see every wrap:
// a 32-bit counter of 15 uJ wraps in 187 s at 350 W.
const raplPoll = 10 * time.Second

// raplMostWatts is more than one zone can draw. A counter that was set back by a
// reload of its driver looks like a wrap of more than that.
const raplMostWatts = 3000

// raplLeastRange is the least that a counter can count to, uJ: the finest unit of any
// processor is 1 uJ of 32 bits, 4295 J. What is less would wrap unseen.
const raplLeastRange = 4e9

func raplRoot(s Spec) string {
	if r := s.Options.Get("root"); r != "" {
		return r
	}
	return "/sys/class/powercap"
}

// raplScope parses which scope the sum is to have; "": all that can be summed.
func raplScope(s Spec) (Scope, error) {
	switch scope := Scope(s.Options.Get("scope")); scope {
	case "", ScopePackage, scopeMemory:
		return scope, nil
	default:
		return "", fmt.Errorf("scope %q: want %s or %s", scope, ScopePackage, scopeMemory)
	}
}

// rapl reads the zones of the control type intel-rapl, which is that of AMD
// processors too (drivers/powercap/intel_rapl_common.c). Its sum is that of the
// packages, and of dram where every package has it: that zone is below its package by
// name only, what memory draws is not in the package's counter (Intel's Software
// Developer's Manual, volume 3, "RAPL Domains"). Core and uncore are in it: they are
// reported and never added, and so is psys, which has the packages in it. The control
// type intel-rapl-mmio is another view of the same packages and is not read.
//
// The kernel makes a package's zone for each die of a socket, package-0-die-1. On Intel's
// processors each die has a counter of its own; on AMD's and Hygon's, all of them show
// that of the socket (rapl_msrs_are_pkg_scope, since Linux 6.12, which makes one zone of
// it). So dies are summed only once their counters were seen to differ.
type rapl struct {
	info   info
	zones  []raplZone
	twins  []*twins     // all pairs of what is summed
	all    string       // what the device is, but for what is known of twins
	socket bool         // the processor's counters are of sockets, not of dies
	lost   *gap         // energy was lost since the last reading that was one
	now    func() int64 // CLOCK_MONOTONIC, ns
}

type raplZone struct {
	file    *os.File
	entry   string // "intel-rapl:0"
	number  string // of its package: "0"
	socket  string // that it is of: "package_0", without the die
	name    string // as the kernel has it: "package-0-die-1"
	dram    bool
	max     int64 // max_energy_range_uj
	started bool
	last    int64 // energy_uj
	lastNs  int64
	total   int64 // uJ since the first read
}

var raplDie = lazy.Regexp(`^(package_\d+)_die_\d+$`)

var raplName = lazy.Regexp(`^intel-rapl:(\d+)(?::(\d+))?$`)

func openRAPL(root string, uncertainty float64, scope Scope, named ...string) (*rapl, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, &unavailable{fmt.Sprintf("no powercap: %v", err), thisHost().noRAPL()}
	}
	r := &rapl{now: counter.Monotonic, info: info{Name: "rapl", Scope: ScopePackage, MinInterval: 10 * time.Millisecond,
		Uncertainty: uncertainty, Averages: time.Millisecond,
		Quick: true}}
	var names []string
	for _, e := range entries {
		if raplName().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	packages := 0
	for _, n := range names {
		packageZone, err := r.add(filepath.Join(root, n), n)
		if err != nil {
			r.Close()
			return nil, err
		}
		if packageZone {
			packages++
		}
	}
	if packages == 0 {
		r.Close()
		return nil, &unavailable{fmt.Sprintf("no RAPL package zone in %s", root), thisHost().noRAPL()}
	}
	if err := r.choose(scope, named); err != nil {
		r.Close()
		return nil, err
	}
	r.socket = root == raplRoot(Spec{}) && countsBySocket()
	r.all = fmt.Sprintf("%d zones: %s", len(r.zones), strings.Join(channelNames(r.info.Channels), " "))
	r.pair(len(named) > 0)
	return r, nil
}

// choose marks the zones of the sum: those that are named, or the packages, with memory
// where it is that of all.
func (r *rapl) choose(scope Scope, named []string) error {
	if len(named) == 0 {
		return r.sum(scope)
	}
	for i := range r.info.Channels {
		r.info.Channels[i].Part = true
	}
	scopes := map[Scope]bool{}
	for _, n := range named {
		i := slices.IndexFunc(r.zones, func(z raplZone) bool { return z.entry == n || z.name == n })
		if i < 0 {
			i = slices.IndexFunc(r.info.Channels, func(c channel) bool { return c.Name == snake(n) })
		}
		switch {
		case i < 0:
			return fmt.Errorf("no zone %q; the zones are %s", short(n),
				strings.Join(channelNames(r.info.Channels), ", "))
		case !r.info.Channels[i].Part:
			return fmt.Errorf("zone %q is named twice and would be counted twice", short(n))
		}
		r.info.Channels[i].Part = false
		scopes[r.scopeOf(i)] = true
	}
	switch {
	case len(scopes) == 1:
		for r.info.Scope = range scopes {
		}
	case len(scopes) == 2 && scopes[ScopePackage] && scopes[scopeMemory]:
		r.info.Scope = scopeMemory
	default:
		return errors.New(
			"zones of unlike kinds are named: core, uncore and psys are parts of others, or have others in them")
	}
	return nil
}

// scopeOf returns what a zone sees by itself.
func (r *rapl) scopeOf(i int) Scope {
	switch z := r.zones[i]; {
	case z.dram:
		return scopeMemory
	case strings.Contains(strings.TrimPrefix(z.entry, "intel-rapl:"), ":"):
		return scopeDevice
	}
	return r.info.Channels[i].Scope
}

// pair lists all counters of the sum that may be one. The dies of a socket are kin,
// unless the user named them.
func (r *rapl) pair(named bool) {
	for a := range r.zones {
		for b := range r.zones[:a] {
			x, y := r.zones[b], r.zones[a]
			if r.info.Channels[a].Part || r.info.Channels[b].Part || x.dram != y.dram {
				continue
			}
			t := &twins{a: b, b: a, kin: x.socket == y.socket && !named}
			if t.kin && r.socket {
				t.state = twinsOne
			}
			r.twins = append(r.twins, t)
		}
	}
	r.settle()
}

// settle applies what is known of twins: where one counter shows twice, one is a part, and as long
// as it is not known whether there are two, there is no sum.
func (r *rapl) settle() {
	channels := slices.Clone(r.info.Channels)
	r.info.NoSum, r.info.Device = nil, r.all
	repeated := map[int]bool{}
	for _, t := range r.twins {
		channels[t.a].Part, channels[t.b].Part = false, false
	}
	for _, t := range r.twins {
		if t.state == twinsOne {
			channels[t.b].Part, repeated[t.b] = true, true
			r.info.Device += "; " + channels[t.b].Name + " shows the counter of " + channels[t.a].Name +
				" again and is not added"
		}
	}
	for _, t := range r.twins {
		if t.kin && t.state == twinsUnknown && !repeated[t.a] && !repeated[t.b] && r.info.NoSum == nil {
			r.info.NoSum = &unavailable{t.unknown(channels[t.a].Name, channels[t.b].Name),
				fmt.Sprintf("wait until they have differed, or name what counts: rapl?zone=%s, or "+
					"'rapl?zone=%[1]s;%s', in quotes", r.zones[t.a].entry, r.zones[t.b].entry)}
		}
	}
	r.info.Channels = channels
}

// compare takes a look at the counters that may be one. Each first one is read again, so
// that what it grew by lies around what the other did.
func (r *rapl) compare() {
	known := true
	for _, t := range r.twins {
		known = known && t.state == twinsTwo
	}
	if known {
		return
	}
	again := map[int]int64{}
	for _, t := range r.twins {
		if _, ok := again[t.a]; ok || t.state == twinsTwo || t.kin && r.socket {
			continue
		}
		v, err := preadInt(r.zones[t.a].file)
		if err != nil {
			return
		}
		again[t.a] = v
	}
	for _, t := range r.twins {
		v, ok := again[t.a]
		if !ok || t.state == twinsTwo {
			continue
		}
		a, b := &r.zones[t.a], &r.zones[t.b]
		grew := v - a.last
		if grew < 0 {
			grew += a.max
		}
		t.look(a.total, a.total+grew, b.total, a.last, a.last+grew, b.last, a.lastNs)
	}
	r.settle()
}

// learn reads until it is known which counters are one, or time is up.
func (r *rapl) learn(limit time.Duration) {
	v := make([]int64, len(r.zones))
	for end := r.now() + int64(limit); r.now() < end; time.Sleep(20 * time.Millisecond) {
		if err := r.Read(context.Background(), v); err != nil || r.info.NoSum == nil {
			return
		}
	}
}

// countsBySocket reports whether the processor's energy counters are those of sockets
// whatever dies they have: AMD's and Hygon's (rapl_msrs_are_pkg_scope of
// drivers/powercap/intel_rapl_common.c).
func countsBySocket() bool {
	return perSocket(thisHost().cpuinfo)
}

func perSocket(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		if v := strings.TrimSpace(value); strings.TrimSpace(key) == "vendor_id" {
			return v == "AuthenticAMD" || v == "HygonGenuine"
		}
	}
	return false
}

// sum decides whether memory is in the sum: of all packages, or of none.
func (r *rapl) sum(scope Scope) error {
	why := r.noMemory()
	switch {
	case scope == ScopePackage, scope == "" && why != "":
		return nil
	case why != "":
		return &unavailable{why, "measure only the packages, on both hosts: rapl?scope=package"}
	}
	r.info.Scope = scopeMemory
	for i, z := range r.zones {
		if z.dram {
			r.info.Channels[i].Part = false
		}
	}
	return nil
}

// noMemory explains why the zones of memory cannot be summed, "" if they can. A counter at 0 has
// never counted: the firmware has it off.
func (r *rapl) noMemory() string {
	has := map[string]bool{}
	for _, z := range r.zones {
		if z.dram {
			if v, err := preadInt(z.file); err != nil || v == 0 {
				return fmt.Sprintf("the memory of package %s is not counted: %s is 0", z.number, z.file.Name())
			}
			has[z.number] = true
		}
	}
	for i, z := range r.zones {
		if c := r.info.Channels[i]; !c.Part && !has[z.number] {
			return fmt.Sprintf("%s has no memory zone (dram)", c.Name)
		}
	}
	return ""
}

// add opens one zone, and says whether it is a package. A sub-zone is named after its
// parent.
func (r *rapl) add(dir, entry string) (isPackage bool, err error) {
	name := zoneName(dir)
	c := channel{Kind: energy, Scope: ScopePackage, Part: true}
	ids := raplName().FindStringSubmatch(entry)
	top := name
	switch {
	case ids[2] != "":
		top = zoneName(filepath.Join(filepath.Dir(dir), "intel-rapl:"+ids[1]))
		name = top + "_" + name
	case strings.HasPrefix(name, "package"):
		c.Part, isPackage = false, true
	default:
		c.Scope = scopeBoard // psys
	}
	c.Name = name
	if slices.ContainsFunc(r.info.Channels, func(o channel) bool { return o.Name == name }) {
		c.Name = name + "_" + strings.ReplaceAll(strings.TrimPrefix(entry, "intel-rapl:"), ":", "_")
	}
	limit, err := readInt(filepath.Join(dir, "max_energy_range_uj"))
	if err != nil {
		return false, raplZoneError(entry, err)
	}
	z := raplZone{max: limit, entry: entry, number: ids[1], socket: top, name: firstLine(filepath.Join(dir,
		"name")),
		dram: ids[2] != "" && zoneName(dir) == "dram"}
	if limit < raplLeastRange {
		if isPackage || z.dram {
			return false, fmt.Errorf("zone %s: max_energy_range_uj is %d: no counter has so little, and at what "+
				"a package can draw it wraps in %v",
				entry, limit, time.Duration(float64(limit)/raplMostWatts*1e3).Round(time.Microsecond))
		}
		return false, nil // a part that could not be followed
	}
	if m := raplDie().FindStringSubmatch(top); m != nil {
		z.socket = m[1]
	}
	if z.file, err = kernelfile.Open(filepath.Join(dir, "energy_uj")); err != nil {
		return false, raplZoneError(entry, err)
	}
	r.zones = append(r.zones, z)
	r.info.Channels = append(r.info.Channels, c)
	return isPackage, nil
}

// raplZoneError explains why a zone that is listed cannot be read.
func raplZoneError(entry string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &unavailable{fmt.Sprintf("zone %s: only root can read energy_uj", entry),
			privilege.Fix(privilege.File, unix.CAP_DAC_READ_SEARCH)}
	case errors.Is(err, fs.ErrNotExist):
		return &unavailable{fmt.Sprintf(
			"zone %s is listed, but its files are not there: %v; container runtimes hide them", entry, err),
			"measure on the host"}
	}
	return fmt.Errorf("zone %s: %w", entry, err)
}

func zoneName(dir string) string {
	b, err := kernelfile.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return filepath.Base(dir)
	}
	return snake(strings.TrimSpace(string(b)))
}

func (r *rapl) Info() info { return r.info }

// Read adds what each counter grew by. It fails with [*Gap] when so much time
// has passed that a wrap may have been missed, or when a counter was set back. If
// a zone cannot be read there is no reading, and a gap of another is told with
// the next.
func (r *rapl) Read(_ context.Context, v []int64) error {
	var failed error
	for i := range r.zones {
		z := &r.zones[i]
		now, err := preadInt(z.file)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.info.Channels[i].Name, err))
			continue
		}
		if err := z.add(now, r.now()); err != nil {
			r.lost = &gap{r.info.Channels[i].Name + ": " + err.Error()}
			for _, t := range r.twins {
				if t.a == i || t.b == i {
					t.again()
				}
			}
		}
		v[i] = z.total
	}
	if failed != nil {
		return failed
	}
	if r.lost == nil {
		r.compare()
	}
	if r.lost != nil {
		gap := r.lost
		r.lost = nil
		return gap
	}
	return nil
}

// add takes a reading. A value that fell has wrapped once: the range is added,
// as Documentation/power/powercap says.
func (z *raplZone) add(value, ns int64) error {
	last, passed, started := z.last, ns-z.lastNs, z.started
	z.last, z.lastNs, z.started = value, ns, true
	if !started {
		return nil
	}
	d := value - last
	if d < 0 {
		d += z.max
	}
	allowed := int64(raplMostWatts * 1e6 * (float64(passed)/1e9 + 0.1)) // 0.1 s: the counter's own period and ours
	if value > z.max {
		return fmt.Errorf("the counter reads %d uJ, more than its range of %d", value, z.max)
	}
	if d < 0 || d > allowed {
		return fmt.Errorf("the counter jumped from %d to %d uJ within %.3f s", last, value, float64(passed)/1e9)
	}
	// After a pause in which it can have wrapped unseen nobody knows how often.
	if passed > int64(raplPoll) && float64(z.max)/1e6 < raplMostWatts*float64(passed)/1e9 {
		z.total += d
		return fmt.Errorf("not read for %.1f s: a wrap-around may have been missed", float64(passed)/1e9)
	}
	z.total += d
	return nil
}

func (r *rapl) Close() error {
	var err error
	for i := range r.zones {
		err = errors.Join(err, r.zones[i].file.Close())
	}
	return err
}

// preadInt reads the number of a small file of the kernel's from its beginning.
func preadInt(f *os.File) (int64, error) {
	var b [32]byte
	n, err := f.ReadAt(b[:], 0)
	if n == 0 {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(b[:n])), 10, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("read %s: %q is not a count", f.Name(), b[:n])
	}
	return v, nil
}

func readInt(path string) (int64, error) {
	f, err := kernelfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return preadInt(f)
}

func channelNames(cs []channel) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return out
}

// snake makes a name of lower case, digits and underscores.
func snake(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '_'
	}, s)
}
