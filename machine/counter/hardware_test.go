// SPDX-License-Identifier: MIT

package counter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// machineTree makes the files of a machine that testdata/hardware lists.
func machineTree(t *testing.T, name string) (FS, *fakeEvents) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/hardware", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for ln := range strings.Lines(string(b)) {
		path, text, _ := strings.Cut(strings.TrimSuffix(ln, "\n"), " ")
		switch {
		case path == "#":
		case strings.HasSuffix(path, "/"):
			if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
				t.Fatal(err)
			}
		default:
			put(t, filepath.Join(dir, path), strings.ReplaceAll(text, "|", "\n")+"\n")
		}
	}
	return FS{proc: filepath.Join(dir, "proc"), sys: filepath.Join(dir, "sys")},
		&fakeEvents{t: t, counts: map[string]EventCount{}, refuse: map[string]error{}, closed: map[int]bool{},
			groups: true}
}

// hardwareOn opens what a machine counts of CPUs 2 and 3.
func hardwareOn(fs FS, f *fakeEvents) *Hardware {
	cpus := []int{2, 3}
	h := &Hardware{PMU: openPMU(fs, cpus, f.calls()), DRAM: openDRAM(fs, f.calls()), MBM: OpenMBM(fs, cpus)}
	if h.PMU.Missing[pmuMisses] != "" {
		h.L3 = openL3(fs, cpus, f.calls())
	}
	return h
}

// On each machine those are counted that there are, each as the machine's own manual has it; where
// there are none, the reason is said.
func TestHardwareOfMachines(t *testing.T) {
	for _, x := range []struct {
		name    string
		opened  []string // "type:config on CPU <leader"
		missing map[string]string
		mbm     string
	}{
		{"icelake-sp", []string{
			"0:0x0 on 2", "0:0x0 on 3", "0:0x1 on 2 <0:0x0 on 2", "0:0x1 on 3 <0:0x0 on 3",
			"0:0x3 on 2", "0:0x3 on 3", "0:0x2 on 2 <0:0x3 on 2", "0:0x2 on 3 <0:0x3 on 3",
			"10:0x1 on 2", "10:0x1 on 3", "10:0x2 on 2 <10:0x1 on 2", "10:0x2 on 3 <10:0x1 on 3",
			"10:0x0 on 2 <10:0x1 on 2", "10:0x0 on 3 <10:0x1 on 3",
			"20:0xf04 on 0", "20:0xf04 on 32", "20:0x3004 on 0", "20:0x3004 on 32",
			"21:0xf04 on 0", "21:0xf04 on 32", "21:0x3004 on 0", "21:0x3004 on 32",
			"22:0xf04 on 0", "22:0xf04 on 32", "22:0x3004 on 0", "22:0x3004 on 32",
			"23:0xf04 on 0", "23:0xf04 on 32", "23:0x3004 on 0", "23:0x3004 on 32"},
			map[string]string{}, "CPUs 2-3"},
		{"zen4", []string{
			"0:0x0 on 2", "0:0x0 on 3", "0:0x1 on 2 <0:0x0 on 2", "0:0x1 on 3 <0:0x0 on 3",
			"10:0x1 on 2", "10:0x1 on 3", "10:0x2 on 2 <10:0x1 on 2", "10:0x2 on 3 <10:0x1 on 3",
			"10:0x0 on 2 <10:0x1 on 2", "10:0x0 on 3 <10:0x1 on 3",
			"40:0x10a on 0", "40:0x20a on 0", "41:0x10a on 0", "41:0x20a on 0",
			"12:0xff04 on 0", "12:0x104 on 0"}, // the complex of CPUs 0-7 alone
			map[string]string{"llc_misses": "misses of their L2"}, "all CPUs"},
		{"zen3", []string{
			"0:0x0 on 2", "0:0x0 on 3", "0:0x1 on 2 <0:0x0 on 2", "0:0x1 on 3 <0:0x0 on 3",
			"10:0x1 on 2", "10:0x1 on 3", "10:0x2 on 2 <10:0x1 on 2", "10:0x2 on 3 <10:0x1 on 3",
			"10:0x0 on 2 <10:0x1 on 2", "10:0x0 on 3 <10:0x1 on 3", "12:0xff04 on 0", "12:0x104 on 0"},
			map[string]string{"llc_misses": "amd_l3", "dram": "amd_df counts requests that other traffic is among",
				"mbm": "it is not mounted", "fix": "mount -t resctrl resctrl /sys/fs/resctrl"}, ""},
		{"altra", []string{
			"0:0x0 on 2", "0:0x0 on 3", "0:0x1 on 2 <0:0x0 on 2", "0:0x1 on 3 <0:0x0 on 3",
			"3:0x10002 on 2", "3:0x10002 on 3", "3:0x2 on 2 <3:0x10002 on 2", "3:0x2 on 3 <3:0x10002 on 3"},
			map[string]string{"aperf": "no msr PMU", "dram": "arm_dmc620_10008c000 counts bursts", "mbm": "no resctrl"},
			""},
		{"grace", []string{
			"0:0x0 on 2", "0:0x0 on 3", "0:0x1 on 2 <0:0x0 on 2", "0:0x1 on 3 <0:0x0 on 3",
			"3:0x10002 on 2", "3:0x10002 on 3", "3:0x2 on 2 <3:0x10002 on 2", "3:0x2 on 3 <3:0x10002 on 3"},
			map[string]string{"dram": "nvidia_scf_pmu_0 counts what CPUs read and write, without what PCIe"}, ""},
	} {
		fs, f := machineTree(t, x.name)
		h := hardwareOn(fs, f)
		if !slices.Equal(f.opened, x.opened) {
			t.Errorf("%s: opened %q, want %q", x.name, f.opened, x.opened)
		}
		missing := maps.Clone(h.PMU.Missing)
		missing["dram"], missing["mbm"], missing["fix"] = h.DRAM.Missing, h.MBM.Missing, h.MBM.Fix
		for what, want := range x.missing {
			if !strings.Contains(missing[what], want) || want == "" {
				t.Errorf("%s: %s is missing for %q, want %q", x.name, what, missing[what], want)
			}
		}
		if h.MBM.of != x.mbm && x.mbm != "" || (h.MBM.Missing == "") != (x.mbm != "") {
			t.Errorf("%s: resctrl of %q, missing %q", x.name, h.MBM.of, h.MBM.Missing)
		}
		h.Close()
		if len(f.closed) != len(f.opened) {
			t.Errorf("%s: %d of %d closed", x.name, len(f.closed), len(f.opened))
		}
	}
}

// rowsOf are the rows of a window.
func rowsOf(h *Hardware, b, a EventCounts) map[string]string {
	r := rows{seconds: 2}
	r.hardware(h, b, a, 2)
	out := map[string]string{}
	for _, m := range r.out {
		out[m.Named()] = strings.TrimSpace(fmt.Sprintf("%.0f %s; %s; %s", m.Value, m.Unit, m.Source, m.Quality))
	}
	return out
}

// A window on Ice Lake, by hand: CPU 2 and 3 with 6e9 and 2e9 cycles, of which the group of CPU 3
// had counters for half of the time; four controllers on two sockets with 1000 lines of 64 bytes
// each way; a group of CPUs 2-3 in two domains.
func TestHardwareFigures(t *testing.T) {
	fs, f := machineTree(t, "icelake-sp")
	h := hardwareOn(fs, f)
	defer h.Close()
	read := func(end bool) EventCounts {
		c, err := h.Read(end)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, name := range f.opened {
		f.counts[name] = EventCount{100, 1e9, 1e9}
	}
	before := read(false)
	for _, name := range f.opened {
		f.counts[name] = EventCount{100 + 1000, 3e9, 3e9}
	}
	f.counts["0:0x0 on 2"], f.counts["0:0x1 on 2 <0:0x0 on 2"] = EventCount{6e9 + 100, 3e9, 3e9},
		EventCount{9e9 + 100, 3e9, 3e9}
	f.counts["0:0x0 on 3"], f.counts["0:0x1 on 3 <0:0x0 on 3"] = EventCount{1e9 + 100, 3e9, 2e9},
		EventCount{5e8 + 100, 3e9, 2e9}
	put(t, filepath.Join(fs.sys, "fs/resctrl/mon_groups/flow/mon_data/mon_L3_00/mbm_total_bytes"), "3000000\n")
	put(t, filepath.Join(fs.sys, "fs/resctrl/mon_groups/flow/mon_data/mon_L3_01/mbm_total_bytes"), "70\n")
	after := read(true)
	const half = "scaled up: other events used the counter 50 % of the time"
	const imc = "perf_event uncore_imc: cas_count_read, cas_count_write;"
	want := map[string]string{
		"pmu_cpu2_cycles_per_s": "3000000000 1/s; perf_event cycles;",
		"pmu_cpu3_cycles_per_s": "1000000000 1/s; perf_event cycles; " + half,
		"pmu_cycles":            "8000000000 1; perf_event cycles; " + half,
		"pmu_instructions":      "10000000000 1; perf_event instructions; " + half,
		"pmu_llc_references":    "2000 1; perf_event cache-misses;",
		"pmu_llc_misses":        "2000 1; perf_event cache-misses;",
		"pmu_cpu2_ghz":          "0 GHz; perf_event msr: aperf / mperf x tsc;",
		"pmu_cpu3_ghz":          "0 GHz; perf_event msr: aperf / mperf x tsc;",
		"pmu_ghz":               "0 GHz; perf_event msr: aperf / mperf x tsc;",
		"dram_read_bytes":       "512000 bytes; " + imc, // 4 controllers x 2 sockets x 1000 x 64
		"dram_write_bytes":      "512000 bytes; " + imc,
		"mbm_total_bytes":       "2000070 bytes; resctrl mbm_total_bytes: CPUs 2-3;",
		"mbm_local_bytes":       "0 bytes; resctrl mbm_local_bytes: CPUs 2-3;",
	}
	if got := rowsOf(h, before, after); !reflect.DeepEqual(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %q, want %q", name, got[name], want[name])
			}
			delete(got, name)
		}
		t.Errorf("more: %q", got)
	}
}

// Each cache is counted once, whichever CPUs share it.
func TestLastLevelBytes(t *testing.T) {
	for name, want := range map[string]float64{"zen4": 2 * 32 << 20, "altra": 0} {
		if fs, _ := machineTree(t, name); LastLevelBytes(fs) != want {
			t.Errorf("%s: %v bytes, want %v", name, LastLevelBytes(fs), want)
		}
	}
}

// What turns count is added up: of all cells of a group, one that had a counter in every other turn
// is scaled up once, by all of them; one that began anew is not known, and says so.
func TestHardwareInTurns(t *testing.T) {
	h := &Hardware{PMU: &PMU{cpus: []int{7}}, DRAM: &Uncore{source: "imc", events: []uncoreEvent{
		{name: "dram_read_bytes", unit: "bytes", fds: []int{0, 1}, per: []float64{64, 64}},
		{name: "dram_write_bytes", unit: "bytes", fds: []int{0}, per: []float64{64}}}}}
	at := func(cycles, ns, ran uint64, read, write uint64) EventCounts {
		return EventCounts{pmuCycles: {{cycles, ns, ran}}, "dram_read_bytes": {{read, ns, ns}, {2 * read, ns, ns}},
			"dram_write_bytes": {{write, ns, ns}}}
	}
	var s TurnSum
	turn := func(before, after EventCounts) {
		s.Add(&TurnReader{}, turnReading{hardware: before}, turnReading{hardware: after})
	}
	turn(at(1000, 100, 100, 10, 50), at(1600, 160, 160, 20, 60)) // 600 in 60
	turn(at(9000, 500, 300, 90, 70), at(9000, 560, 300, 95, 80)) // it had no counter
	turn(at(9500, 900, 400, 99, 10), at(10100, 960, 460, 100, 20))
	var from, to Snapshot
	s.Between(&from, &to)
	got := rowsOf(h, from.Hardware, to.Hardware)
	for name, want := range map[string]string{
		"pmu_cycles":       "1800 1; perf_event cycles; scaled up: other events used the counter 33 % of the time",
		"dram_read_bytes":  "3072 bytes; imc;", // (10+5+1) x 3 x 64
		"dram_write_bytes": "1920 bytes; imc;"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	turn(at(1, 1000, 1000, 5, 5), at(2, 1060, 1060, 6, 4)) // writes fell
	from, to = Snapshot{}, Snapshot{}
	s.Between(&from, &to)
	if got := rowsOf(h, from.Hardware, to.Hardware); got["dram_write_bytes"] != "" || got["dram_read_bytes"] == "" ||
		!strings.Contains(strings.Join(to.Warnings, "; "), "dram_write_bytes") {
		t.Errorf("a counter that fell in a turn: %v, %q", got, to.Warnings)
	}
	// A turn that could not be read at an edge, or at both, is in no sum: it would be too little.
	first, second := [2]EventCounts{at(0, 100, 100, 10, 50), at(9, 160, 160, 20, 60)},
		[2]EventCounts{at(9, 500, 500, 90, 70), at(99, 560, 560, 95, 80)}
	for name, turns := range map[string][][2]EventCounts{
		"at its end": {first, {second[0], nil}}, "at its beginning": {first, {nil, second[1]}},
		"at both": {first, {nil, nil}}, "before others": {{nil, nil}, {nil, nil}, second},
		"between": {first, {nil, nil}, second}} {
		s, from, to = TurnSum{}, Snapshot{}, Snapshot{}
		for _, x := range turns {
			turn(x[0], x[1])
		}
		s.Between(&from, &to)
		if got := rowsOf(h, from.Hardware, to.Hardware); len(got) > 0 ||
			!strings.Contains(strings.Join(to.Warnings, "; "), "cycles, dram_read_bytes, dram_write_bytes") {
			t.Errorf("a turn was not read %s: %v, %q", name, got, to.Warnings)
		}
	}
}

// Where resctrl does not tell, or counts something else, nothing is told and the reason is.
func TestMBM(t *testing.T) {
	const flow, root = "fs/resctrl/mon_groups/flow/", "fs/resctrl/"
	for _, x := range []struct {
		name, machine string
		change        map[string]string // of /sys; "": without the file
		of, missing   string
		total         uint64
	}{
		{"a group has just these CPUs", "icelake-sp", nil, "CPUs 2-3", "", 1000000},
		{"no group has them", "icelake-sp", map[string]string{flow + "cpus_list": "2-4"}, "all CPUs", "", 5734000},
		{"this process is in a group of its own", "icelake-sp",
			map[string]string{"../proc/self/cpu_resctrl_groups": "res:web\nmon:"},
			"all CPUs", "", 5734000},
		{"AMD", "zen4", nil, "all CPUs", "", 7040},
		{"a part of the traffic", "zen4",
			map[string]string{root + "info/L3_MON/mbm_total_bytes_config": "0=0x7f;1=0x33"}, "",
			"a part of the traffic", 0},
		{"no counter", "zen4", map[string]string{root + "mon_data/mon_L3_01/mbm_total_bytes": "Unavailable"}, "",
			"mon_L3_01/mbm_total_bytes: Unavailable", 0},
		{"not assigned", "zen4", map[string]string{root + "mon_data/mon_L3_01/mbm_total_bytes": "Unassigned"}, "",
			"no counter is assigned", 0},
		{"an error", "zen4", map[string]string{root + "mon_data/mon_L3_00/mbm_local_bytes": "Error"}, "",
			`"Error" is no count`, 0},
		{"no domain", "zen4", map[string]string{root + "mon_data": ""}, "", "has no mbm_total_bytes", 0},
		{"no domain of one group", "icelake-sp", map[string]string{flow + "cpus_list": "2-4",
			root + "web/cpus_list": "", root + "web/mon_data": ""}, "", "web has no mbm_total_bytes", 0},
		{"allocation alone", "zen4", map[string]string{root + "info/L3_MON": ""}, "", "counts no memory bandwidth", 0},
		{"occupancy alone", "zen4", map[string]string{root + "info/L3_MON/mon_features": "llc_occupancy"}, "",
			"does not count mbm_total_bytes", 0},
	} {
		fs, _ := machineTree(t, x.machine)
		for path, text := range x.change {
			if text == "" {
				if err := os.RemoveAll(filepath.Join(fs.sys, path)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			put(t, filepath.Join(fs.sys, path), text+"\n")
		}
		m := OpenMBM(fs, []int{2, 3})
		c, err := m.Read()
		total := uint64(0)
		for _, v := range c["mbm_total_bytes"] {
			total += v.Value
		}
		if err != nil || total != x.total || x.missing == "" && (m.of != x.of || m.Missing != "") ||
			!strings.Contains(m.Missing, x.missing) {
			t.Errorf("%s: %d bytes of %q, %v, missing %q; want %d of %q, %q", x.name, total, m.of, err, m.Missing,
				x.total,
				x.of, x.missing)
		}
		m.Close()
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, fs.sys) {
				t.Errorf("%s: %s stays open", x.name, to)
			}
		}
	}
	var none *MBM
	if c, err := none.Read(); c != nil || err != nil {
		t.Error("nobody reads something")
	}
	none.Close()
}

// A counter that does not fit into a group is counted by itself, and one that is refused is missing
// alone: the others of its group are counted.
func TestGroupWithoutOne(t *testing.T) {
	fs, f := machineTree(t, "icelake-sp")
	f.refuse["0:0x1 on 3 <0:0x0 on 3"], f.refuse["0:0x3 on 2"] = unix.EINVAL, unix.ENOENT
	p := openPMU(fs, []int{2, 3}, f.calls())
	defer p.Close()
	if p.Missing[pmuInstructions] != "" || p.Missing[pmuMisses] == "" || p.Missing[pmuCycles] != "" ||
		p.Missing[pmuReferences] != "" || slices.Contains(f.opened[4:], "0:0x1 on 3 <0:0x0 on 3") ||
		!slices.Contains(f.opened, "0:0x1 on 3") {
		t.Errorf("missing %q", p.Missing)
	}
	c, err := p.Read()
	if err != nil || len(c[pmuCycles]) != 2 || len(c[pmuReferences]) != 2 ||
		len(c[pmuInstructions]) != 2 || c[pmuMisses] != nil {
		t.Errorf("%v, %v", c, err)
	}
}

func TestParseGroup(t *testing.T) {
	var b []byte
	for _, v := range []uint64{2, 30, 20, 7, 8} {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	got := make([]EventCount, 2)
	if err := parseGroup(b, got); err != nil || !slices.Equal(got, []EventCount{{7, 30, 20}, {8, 30, 20}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, x := range []struct {
		b []byte
		n int
	}{{b[:32], 2}, {b, 1}, {b, 3}, {nil, 1}} {
		if err := parseGroup(x.b, make([]EventCount, x.n)); err == nil {
			t.Errorf("%d bytes are %d events", len(x.b), x.n)
		}
	}
}

// The group of software events that every machine has is read as one: both counted for the same
// time.
func TestKernelReadsGroups(t *testing.T) {
	attr := func(config uint64) *unix.PerfEventAttr {
		return &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: config, Size: unix.PERF_ATTR_SIZE_VER0,
			Read_format: countedTogether}
	}
	leader, err := kernelEvents.open(attr(unix.PERF_COUNT_SW_CPU_CLOCK), 0, -1)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip(perfReason(err))
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := kernelEvents.open(attr(unix.PERF_COUNT_SW_CONTEXT_SWITCHES), 0, leader)
	if err != nil {
		t.Fatal(err)
	}
	defer kernelEvents.closeAll([]int{leader, other})
	counts := make([]EventCount, 2)
	if err := kernelEvents.group(leader, counts); err != nil || counts[0].Value == 0 || counts[0].EnabledNs == 0 ||
		counts[0].EnabledNs != counts[1].EnabledNs || counts[0].RunningNs != counts[1].RunningNs {
		t.Errorf("%+v, %v", counts, err)
	}
}
