// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// MBM reads how many bytes CPUs moved between their last-level caches and memory, as the
// processor's memory bandwidth monitoring counts them and resctrl shows it
// (Documentation/filesystems/resctrl.rst; fs/resctrl/ctrlmondata.c: rdtgroup_mondata_show):
// Intel's, AMD's, and Arm's MPAM. What devices read and write, such as a NIC into the cache, is in
// none of it. Somebody else has mounted resctrl, and made its groups: nothing is changed here. The
// zero value reads nothing.
type MBM struct {
	events []mbmEvent
	of     string // which CPUs' bytes they are
	// Missing says why nothing is read; empty: it is. Fix is what to do, if anything.
	Missing, Fix string
}

// mbmEvent is a count of all groups and domains together.
type mbmEvent struct {
	name  string
	files []*os.File
}

// mostMBMFiles bounds the files of domains and groups: each is read on a CPU of its domain.
const mostMBMFiles = 512

// OpenMBM finds the counters of cpus (nil: of all), where a monitoring group has just these, and
// else those of all groups together, which are all CPUs. It never fails: where nothing can be read,
// Missing says why.
func OpenMBM(fs FS, cpus []int) *MBM {
	m := &MBM{}
	if err := m.open(fs, cpus); err != nil {
		m.Close()
		m.Missing, m.Fix = err.Error(), fault.Fix(err)
	}
	return m
}

// Of says which CPUs' bytes are counted.
func (m *MBM) Of() string { return m.of }

func (m *MBM) open(fs FS, cpus []int) error {
	root := fs.sysPath("fs/resctrl")
	features, err := kernelfile.ReadFile(filepath.Join(root, "info/L3_MON/mon_features"))
	if err != nil {
		return fs.noMBM(root, err)
	}
	names := strings.Fields(string(features))
	if !slices.Contains(names, "mbm_total_bytes") {
		return errors.New("resctrl is mounted, and this processor, or the virtual machine, does not count " +
			"mbm_total_bytes (info/L3_MON/mon_features)")
	}
	groups, err := resctrlGroups(root)
	if err != nil {
		return err
	}
	dirs := []string{root}
	if of := groups.ofCPUs(cpus); of != "" && fs.inDefaultGroup() {
		dirs, m.of = []string{of}, "CPUs "+FormatCPUList(cpus)
	} else {
		dirs, m.of = append(dirs, groups.control...), "all CPUs"
	}
	for _, name := range []string{"mbm_total_bytes", "mbm_local_bytes"} {
		if !slices.Contains(names, name) {
			continue
		}
		m.events = append(m.events, mbmEvent{name: name}) // Close finds its files, whatever comes
		e := &m.events[len(m.events)-1]
		for _, dir := range dirs {
			files, _ := filepath.Glob(filepath.Join(dir, "mon_data/mon_L3_*", name))
			if len(files) == 0 {
				return fmt.Errorf("%s has no %s", dir, name)
			}
			for _, path := range files {
				if len(e.files) == mostMBMFiles {
					return fmt.Errorf("resctrl has more than %d counts of %s: too many groups to read", mostMBMFiles,
						name)
				}
				f, err := kernelfile.Open(path)
				if err != nil {
					return err
				}
				e.files = append(e.files, f)
			}
		}
	}
	return m.counts(filepath.Join(root, "info/L3_MON"))
}

// noMBM says why there are no counters.
func (fs FS) noMBM(root string, err error) error {
	switch _, serr := os.Stat(root); {
	case !errors.Is(err, os.ErrNotExist):
		return err
	case serr != nil:
		return errors.New("no resctrl: the processor, the virtual machine, or the kernel (CONFIG_X86_CPU_RESCTRL, " +
			"CONFIG_ARM64_MPAM) does not have it")
	}
	if _, err := os.Stat(filepath.Join(root, "info")); err == nil {
		return errors.New("resctrl is mounted, and the processor, or the virtual machine, counts no memory bandwidth " +
			"(no info/L3_MON)")
	}
	return &fault.Error{Op: "read resctrl", Err: errors.New("it is not mounted"),
		How: "mount -t resctrl resctrl /sys/fs/resctrl (umount undoes it)"}
}

// groups are the folders of resctrl.
type groups struct {
	control []string          // but for the root's
	cpus    map[string]string // folders by the CPUs that they have
}

// resctrlGroups lists the groups. Those that have CPUs count what runs there, but for tasks that
// are in another group themselves.
func resctrlGroups(root string) (g groups, err error) {
	g.cpus = map[string]string{}
	below := func(dir string, but ...string) (out []string, err error) {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() && !slices.Contains(but, e.Name()) {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
		return out, err
	}
	if g.control, err = below(root, "info", "mon_data", "mon_groups"); err != nil {
		return g, err
	}
	for _, dir := range append([]string{root}, g.control...) {
		all, err := below(filepath.Join(dir, "mon_groups"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return g, err
		}
		if dir != root {
			all = append(all, dir)
		}
		for _, x := range all {
			if cpus, err := ParseCPUList(line(filepath.Join(x, "cpus_list"))); err == nil && len(cpus) > 0 {
				g.cpus[FormatCPUList(cpus)] = x
			}
		}
	}
	return g, nil
}

// ofCPUs returns the group that has just these CPUs; "": none.
func (g groups) ofCPUs(cpus []int) string { return g.cpus[FormatCPUList(cpus)] }

// inDefaultGroup reports whether what this process does is counted where its CPUs' is
// (fs/resctrl/rdtgroup.c: proc_resctrl_show). A kernel without that file does not tell, and then it
// is not.
func (fs FS) inDefaultGroup() bool {
	return strings.Join(strings.Fields(line(fs.procPath("self", "cpu_resctrl_groups"))), " ") == "res:/ mon:"
}

// counts reports whether each counter can be read, and what makes one count something else than it
// is taken for.
func (m *MBM) counts(info string) error {
	if text := line(filepath.Join(info, "mbm_total_bytes_config")); text != "" { // AMD, BMEC
		for part := range strings.SplitSeq(text, ";") {
			if _, v, _ := strings.Cut(part, "="); !strings.EqualFold(v, "0x7f") {
				return &fault.Error{Op: "read resctrl",
					Err: fmt.Errorf(
						"mbm_total_bytes is set to count a part of the traffic: mbm_total_bytes_config is %s", text),
					How: "write 0x7f for each domain to info/L3_MON/mbm_total_bytes_config"}
			}
		}
	}
	_, err := m.Read()
	if errors.Is(err, errNoCount) { // the first reading after a change says that
		_, err = m.Read()
	}
	return err
}

// errNoCount: the processor does not tell.
var errNoCount = errors.New("Unavailable")

// Read reads all counters; nil: there are none.
func (m *MBM) Read() (EventCounts, error) {
	if m == nil || len(m.events) == 0 {
		return nil, nil
	}
	out := EventCounts{}
	for _, e := range m.events {
		counts := make([]EventCount, 0, len(e.files))
		for _, f := range e.files {
			c, err := readMBM(f)
			if err != nil {
				return nil, err
			}
			counts = append(counts, c)
		}
		out[e.name] = counts
	}
	return out, nil
}

// readMBM reads a count of a group in a domain, which is counted all the time. The kernel extends
// it to 64 bits.
func readMBM(f *os.File) (c EventCount, err error) {
	var b [32]byte
	n, err := f.ReadAt(b[:], 0)
	if n == 0 {
		return c, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	switch text := string(bytes.TrimSpace(b[:n])); text {
	case "Unavailable":
		return c, fmt.Errorf("%s: %w", f.Name(), errNoCount)
	case "Unassigned": // AMD, ABMC
		return c, &fault.Error{Op: "read resctrl", Err: fmt.Errorf("%s: no counter is assigned to it", f.Name()),
			How: "echo default > /sys/fs/resctrl/info/L3_MON/mbm_assign_mode, or assign one (mbm_L3_assignments)"}
	default:
		if c.Value, err = strconv.ParseUint(text, 10, 64); err != nil { // "Error"
			return c, fmt.Errorf("%s: %q is no count", f.Name(), text)
		}
	}
	c.EnabledNs = uint64(Monotonic())
	c.RunningNs = c.EnabledNs
	return c, nil
}

// Close closes what is open.
func (m *MBM) Close() {
	if m == nil {
		return
	}
	for _, e := range m.events {
		for _, f := range e.files {
			f.Close()
		}
	}
	m.events = nil
}

// mbm reports what was moved between two readings.
func (r *rows) mbm(m *MBM, b, a EventCounts) {
	if m == nil {
		return
	}
	for _, e := range m.events {
		if sum, _, ok := sumOf(b[e.name], a[e.name], nil); ok {
			r.count(e.name, "bytes", sum, "resctrl "+e.name+": "+m.of, "")
		}
	}
}

// MBMMetrics describe what resctrl counts.
var MBMMetrics = []measure.MetricDoc{
	{Names: "mbm_total_bytes mbm_local_bytes mbm_bytes_per_byte",
		Units: "bytes bytes bytes/byte", Source: "resctrl mbm_total_bytes; resctrl mbm_local_bytes",
		Meaning: "that CPUs moved between their last-level caches and memory, of all nodes and of their " +
			"own, without what devices read and write: of the measured CPUs where a monitoring group has " +
			"just these, else of all (docs/sources.md); the former per byte of payload"},
}
