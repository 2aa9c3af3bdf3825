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

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/counter"
)

var raplKind = sourceKind{inBand: true, summary: "energy counters of the CPU packages and their memory (powercap)", example: "rapl",
	reaches: opens("root"),
	options: []string{"root", "scope"},
	check: func(s Spec) error {
		_, err := raplScope(s)
		return err
	},
	open: func(s Spec) (Source, error) {
		scope, err := raplScope(s)
		if err != nil {
			return nil, err
		}
		r, err := openRAPL(raplRoot(s), s.declared(raplUncertainty), scope)
		if err != nil {
			return nil, err
		}
		r.info.Name = s.String()
		return r, nil
	},
	survey: func() (string, error) {
		r, err := openRAPL(raplRoot(Spec{}), raplUncertainty, "")
		if err != nil {
			return "", err
		}
		defer r.Close()
		return r.info.Device, nil
	}}

// raplUncertainty is what comparisons with wall meters find, beside a constant
// difference: RAPL is no calibrated meter.
const raplUncertainty = 0.05

// raplPoll is the longest time between two reads that is sure to see every wrap:
// a 32-bit counter of 15 uJ wraps in 187 s at 350 W.
const raplPoll = 10 * time.Second

// raplMostWatts is more than one zone can draw. A counter that was set back by a
// reload of its driver looks like a wrap of more than that.
const raplMostWatts = 3000

func raplRoot(s Spec) string {
	if r := s.Options.Get("root"); r != "" {
		return r
	}
	return "/sys/class/powercap"
}

// raplScope is what the sum is to be of, as asked for; "": all that can be summed.
func raplScope(s Spec) (Scope, error) {
	switch scope := Scope(s.Options.Get("scope")); scope {
	case "", ScopePackage, ScopeMemory:
		return scope, nil
	default:
		return "", fmt.Errorf("scope %q: want %s or %s", scope, ScopePackage, ScopeMemory)
	}
}

// rapl reads the zones of the control type intel-rapl, which is that of AMD
// processors too (drivers/powercap/intel_rapl_common.c). Its sum is that of the
// packages, and of dram where every package has it: that zone is below its package by
// name only, what memory draws is not in the package's counter (Intel's Software
// Developer's Manual, volume 3, "RAPL Domains"). Core and uncore are in it: they are
// reported and never added, and so is psys, which has the packages in it. The control
// type intel-rapl-mmio is another view of the same packages and is not read.
type rapl struct {
	info  Info
	zones []raplZone
	lost  *Gap         // energy was lost since the last reading that was one
	now   func() int64 // CLOCK_MONOTONIC, ns
}

type raplZone struct {
	file    *os.File
	number  string // of its package: "0"
	dram    bool
	max     int64 // max_energy_range_uj
	started bool
	last    int64 // energy_uj
	lastNs  int64
	total   int64 // uJ since the first read
}

var raplName = lazy.Regexp(`^intel-rapl:(\d+)(?::(\d+))?$`)

func openRAPL(root string, uncertainty float64, scope Scope) (*rapl, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, &Unavailable{fmt.Sprintf("no powercap: %v", err), "modprobe intel_rapl_msr (x86 without a hypervisor; CONFIG_POWERCAP, CONFIG_INTEL_RAPL)"}
	}
	r := &rapl{now: counter.Monotonic, info: Info{Name: "rapl", Scope: ScopePackage, MinInterval: 10 * time.Millisecond, Uncertainty: uncertainty, Averages: time.Millisecond}}
	var names []string
	for _, e := range entries {
		if raplName().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	packages := 0
	for _, n := range names {
		c, err := r.add(filepath.Join(root, n), n)
		if err != nil {
			r.Close()
			return nil, err
		}
		if !c.Part {
			packages++
		}
	}
	if packages == 0 {
		r.Close()
		return nil, &Unavailable{fmt.Sprintf("no RAPL package zone in %s", root), "modprobe intel_rapl_msr; virtual machines have none"}
	}
	if err := r.sum(scope); err != nil {
		r.Close()
		return nil, err
	}
	r.info.Device = fmt.Sprintf("%d zones: %s", len(r.zones), strings.Join(channelNames(r.info.Channels), " "))
	return r, nil
}

// sum decides whether memory is in the sum: of all packages, or of none.
func (r *rapl) sum(scope Scope) error {
	why := r.noMemory()
	switch {
	case scope == ScopePackage, scope == "" && why != "":
		return nil
	case why != "":
		return &Unavailable{why, "measure only the packages, on both hosts: rapl?scope=package"}
	}
	r.info.Scope = ScopeMemory
	for i, z := range r.zones {
		if z.dram {
			r.info.Channels[i].Part = false
		}
	}
	return nil
}

// noMemory says why the zones of memory cannot be summed, "" if they can. A counter
// at 0 has never counted: the firmware has it off.
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

// add opens one zone. A sub-zone is named after its parent.
func (r *rapl) add(dir, entry string) (Channel, error) {
	name := zoneName(dir)
	c := Channel{Kind: Energy, Scope: ScopePackage, Part: true}
	ids := raplName().FindStringSubmatch(entry)
	switch {
	case ids[2] != "":
		parent := zoneName(filepath.Join(filepath.Dir(dir), "intel-rapl:"+ids[1]))
		name = parent + "_" + name
	case strings.HasPrefix(name, "package"):
		c.Part = false
	default:
		c.Scope = ScopeBoard // psys
	}
	c.Name = name
	if slices.ContainsFunc(r.info.Channels, func(o Channel) bool { return o.Name == name }) {
		c.Name = name + "_" + strings.ReplaceAll(strings.TrimPrefix(entry, "intel-rapl:"), ":", "_")
	}
	limit, err := readInt(filepath.Join(dir, "max_energy_range_uj"))
	if err != nil {
		return c, fmt.Errorf("zone %s: %w", entry, err)
	}
	f, err := os.Open(filepath.Join(dir, "energy_uj"))
	if errors.Is(err, fs.ErrPermission) {
		return c, &Unavailable{fmt.Sprintf("zone %s: only root can read energy_uj", entry), "run as root or with CAP_DAC_READ_SEARCH"}
	}
	if err != nil {
		return c, fmt.Errorf("zone %s: %w", entry, err)
	}
	r.zones = append(r.zones, raplZone{file: f, max: limit, number: ids[1], dram: ids[2] != "" && zoneName(dir) == "dram"})
	r.info.Channels = append(r.info.Channels, c)
	return c, nil
}

func zoneName(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return filepath.Base(dir)
	}
	return snake(strings.TrimSpace(string(b)))
}

func (r *rapl) Info() Info { return r.info }

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
			r.lost = &Gap{r.info.Channels[i].Name + ": " + err.Error()}
		}
		v[i] = z.total
	}
	if failed != nil {
		return failed
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
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return preadInt(f)
}

func channelNames(cs []Channel) []string {
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
