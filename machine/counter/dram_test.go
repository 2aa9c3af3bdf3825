// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeEvents are counters of CPUs and memory controllers: of each event that is opened one, which
// has counted what a test says.
type fakeEvents struct {
	t      *testing.T
	opened []string // type:config on CPU, by file descriptor
	counts map[string]EventCount
	refuse map[string]error
	closed map[int]bool
	groups bool // events are in groups
}

func (f *fakeEvents) calls() eventCalls {
	return eventCalls{
		open: func(attr *unix.PerfEventAttr, cpu, leader int) (int, error) {
			name := fmt.Sprintf("%d:%#x on %d", attr.Type, attr.Config, cpu)
			if leader >= 0 {
				name += " <" + f.opened[leader]
			}
			if attr.Read_format|unix.PERF_FORMAT_GROUP != countedTogether || attr.Sample != 0 || attr.Bits != 0 ||
				leader >= 0 && !f.groups {
				f.t.Errorf("%s: %+v", name, attr)
			}
			if err := f.refuse[name]; err != nil {
				return -1, err
			}
			f.opened = append(f.opened, name)
			return len(f.opened) - 1, nil
		},
		read: func(fd int) (EventCount, error) { return f.counts[f.opened[fd]], nil },
		group: func(fd int, counts []EventCount) error {
			i := 0
			for at, name := range f.opened {
				if f.closed[at] {
					continue
				}
				if name == f.opened[fd] || strings.HasSuffix(name, " <"+f.opened[fd]) {
					if i < len(counts) {
						counts[i] = f.counts[name]
					}
					i++
				}
			}
			if i != len(counts) {
				return fmt.Errorf("%s leads %d events, not %d", f.opened[fd], i, len(counts))
			}
			return nil
		},
		close: func(fd int) error {
			if f.closed[fd] {
				f.t.Errorf("%s is closed twice", f.opened[fd])
			}
			f.closed[fd] = true
			return nil
		}}
}

// pmuTree makes PMUs in sysfs: files by their paths below bus/event_source/devices.
func pmuTree(t *testing.T, files map[string]string) (FS, *fakeEvents) {
	t.Helper()
	fs := FS{proc: t.TempDir(), sys: t.TempDir()}
	put(t, filepath.Join(fs.sys, "bus/event_source/devices/software/type"), "1\n")
	for name, text := range files {
		put(t, filepath.Join(fs.sys, "bus/event_source/devices", name), text+"\n")
	}
	return fs, &fakeEvents{t: t, counts: map[string]EventCount{}, refuse: map[string]error{}, closed: map[int]bool{}}
}

// imc are the files of Intel's controller of a number on two sockets, as Linux exports them.
func imc(files map[string]string, n int, read, write string) map[string]string {
	if files == nil {
		files = map[string]string{}
	}
	for name, text := range map[string]string{"type": fmt.Sprint(20 + n), "cpumask": "0,24",
		"format/event": "config:0-7", "format/umask": "config:8-15",
		"events/cas_count_read": read, "events/cas_count_read.scale": "6.103515625e-5",
		"events/cas_count_read.unit": "MiB",
		"events/cas_count_write":     write, "events/cas_count_write.scale": "6.103515625e-5",
		"events/cas_count_write.unit": "MiB"} {
		files[fmt.Sprintf("uncore_imc_%d/%s", n, name)] = text
	}
	return files
}

// dramOf are the rows of a window in which the counters went from one state to another.
func dramOf(t *testing.T, d *Uncore, f *fakeEvents, before, after map[string]EventCount) map[string]string {
	t.Helper()
	f.counts = before
	b, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	f.counts = after
	a, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	r := rows{seconds: 1}
	r.uncore(d, b, a)
	out := map[string]string{}
	for _, m := range r.out {
		out[m.Name] = strings.TrimSpace(fmt.Sprintf("%.0f %s %s; %s", m.Value, m.Unit, m.Source, m.Quality))
	}
	return out
}

// Both sockets' controllers are added up, each by its own scale; one that was counted in turn with
// other events is scaled up, and says so.
func TestDRAMOfIntel(t *testing.T) {
	fs, f := pmuTree(t, imc(imc(nil, 0, "event=0x04,umask=0x03", "event=0x04,umask=0x0c"), 1, "event=0x04,umask=0x03",
		"event=0x04,umask=0x0c"))
	d := openDRAM(fs, f.calls())
	if d.Missing != "" || len(f.opened) != 8 {
		t.Fatalf("%q, %q", d.Missing, f.opened)
	}
	before, after := map[string]EventCount{}, map[string]EventCount{}
	for i, name := range f.opened {
		before[name], after[name] = EventCount{500, 1e9, 1e9}, EventCount{1500, 2e9, 2e9}
		if strings.Contains(name, ":0xc04 ") {
			after[name] = EventCount{500 + uint64(i), 2e9, 2e9}
		}
	}
	after["21:0x304 on 24"] = EventCount{1000, 2e9, 1.5e9} // half of the time
	const src = "bytes perf_event uncore_imc: cas_count_read, cas_count_write;"
	got := dramOf(t, d, f, before, after)
	want := map[string]string{"dram_read_bytes": "256000 " + src +
		" scaled up: other events used the counter 50 % of the time", "dram_write_bytes": fmt.Sprintf("%d %s",
		64*(2+3+6+7), src)}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, want %q", name, got[name], text)
		}
	}
	after["20:0x304 on 0"] = before["20:0x304 on 0"] // which has the same times
	if got := dramOf(t, d, f, before, after); got["dram_read_bytes"] != "" || got["dram_write_bytes"] == "" {
		t.Errorf("one controller's reads are not known: %v", got)
	}
	d.Close()
	if len(f.closed) != 8 {
		t.Errorf("%d closed", len(f.closed))
	}
}

// Other machines name them otherwise; where two PMUs count the same, it counts once.
func TestDRAMOfOthers(t *testing.T) {
	free := func(name string, more map[string]string) map[string]string {
		for file, text := range map[string]string{"type": "30", "cpumask": "0", "format/event": "config:0-7",
			"format/umask":     "config:8-15",
			"events/data_read": "event=0xff,umask=0x20", "events/data_read.scale": "6.103515625e-5",
			"events/data_read.unit": "MiB",
			"events/data_write":     "event=0xff,umask=0x30", "events/data_write.scale": "6.103515625e-5",
			"events/data_write.unit": "MiB"} {
			more[name+"/"+file] = text
		}
		return more
	}
	for _, x := range []struct {
		name   string
		files  map[string]string
		opened string
	}{
		{"client", map[string]string{"uncore_imc/type": "11", "uncore_imc/cpumask": "0",
			"uncore_imc/format/event":      "config:0-7",
			"uncore_imc/events/data_reads": "event=0x01", "uncore_imc/events/data_reads.scale": "6.103515625e-5",
			"uncore_imc/events/data_reads.unit": "MiB",
			"uncore_imc/events/data_writes":     "event=0x02", "uncore_imc/events/data_writes.scale": "6.103515625e-5",
			"uncore_imc/events/data_writes.unit": "MiB"}, "[11:0x1 on 0 11:0x2 on 0]"},
		{"a later client, whose controllers export no events", free("uncore_imc_free_running_0",
			map[string]string{"uncore_imc_0/type": "12", "uncore_imc_0/cpumask": "0"}),
			"[30:0x20ff on 0 30:0x30ff on 0]"},
		{"a server with both", free("uncore_imc_free_running_0", imc(nil, 0, "event=0x05,umask=0xcf",
			"event=0x05,umask=0xf0")), "[20:0xcf05 on 0 20:0xcf05 on 24 20:0xf005 on 0 20:0xf005 on 24]"},
		{"AMD", map[string]string{"amd_umc_0/type": "40", "amd_umc_0/cpumask": "0",
			"amd_umc_0/format/event": "config:0-7", "amd_umc_0/format/rdwrmask": "config:8-9"},
			"[40:0x10a on 0 40:0x20a on 0]"},
	} {
		fs, f := pmuTree(t, x.files)
		d := openDRAM(fs, f.calls())
		if d.Missing != "" || fmt.Sprint(f.opened) != x.opened {
			t.Errorf("%s: %q, %v, want %s", x.name, d.Missing, f.opened, x.opened)
			continue
		}
		before, after := map[string]EventCount{}, map[string]EventCount{}
		for _, name := range f.opened {
			before[name], after[name] = EventCount{1, 1, 1}, EventCount{1001, 1e9, 1e9}
		}
		for name, got := range dramOf(t, d, f, before, after) {
			if want := fmt.Sprintf("%d bytes ", 64000*len(f.opened)/2); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s: %s, want %s", x.name, name, got, want)
			}
		}
	}
}

// Where some of it cannot be counted nothing is, nothing stays open, and the reason is said.
func TestDRAMMissing(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(files map[string]string, f map[string]error)
		want   string
	}{
		{"no memory controller PMU", func(files map[string]string, _ map[string]error) { clear(files) },
			"most virtual machines"},
		{"no scale", func(files map[string]string, _ map[string]error) {
			delete(files, "uncore_imc_1/events/cas_count_read.scale")
		}, ": unknown number of bytes per count: unit"},
		{"a scale that is no number", func(files map[string]string, _ map[string]error) {
			files["uncore_imc_1/events/cas_count_write.scale"] = "NaN"
		}, ": unknown number of bytes per count: unit"},
		{"another unit", func(files map[string]string, _ map[string]error) {
			files["uncore_imc_0/events/cas_count_read.unit"] = "Joules"
		}, `unit "Joules"`},
		{"no CPU", func(files map[string]string, _ map[string]error) { files["uncore_imc_1/cpumask"] = "" },
			"cpumask: it is empty"},
		{"a term without a format", func(files map[string]string, _ map[string]error) {
			delete(files, "uncore_imc_0/format/umask")
		}, `format of umask is ""`},
		{"a term too large", func(files map[string]string, _ map[string]error) {
			files["uncore_imc_0/events/cas_count_read"] = "event=0x104,umask=0x03"
		}, "event does not fit"},
		{"a path for a term", func(files map[string]string, _ map[string]error) {
			files["uncore_imc_0/events/cas_count_read"] = "../type=1"
		}, "has a malformed term"},
		{"HBM beside it", func(files map[string]string, _ map[string]error) { files["uncore_hbm_3/type"] = "50" },
			"uncore_hbm_3"},
		{"refused", func(_ map[string]string, f map[string]error) { f["21:0xc04 on 24"] = unix.EACCES }, "CAP_PERFMON"},
		{"no counter", func(_ map[string]string, f map[string]error) { f["20:0x304 on 0"] = unix.ENODEV },
			"no such counter"},
	} {
		files := imc(imc(nil, 0, "event=0x04,umask=0x03", "event=0x04,umask=0x0c"), 1, "event=0x04,umask=0x03",
			"event=0x04,umask=0x0c")
		refuse := map[string]error{}
		x.change(files, refuse)
		fs, f := pmuTree(t, files)
		f.refuse = refuse
		d := openDRAM(fs, f.calls())
		if !strings.Contains(d.Missing, x.want) || len(f.closed) != len(f.opened) {
			t.Errorf("%s: %q, want %q; %d of %d closed", x.name, d.Missing, x.want, len(f.closed), len(f.opened))
		}
		if c, err := d.Read(); c != nil || err != nil {
			t.Errorf("%s: %+v, %v", x.name, c, err)
		}
		r := rows{}
		if r.uncore(d, nil, nil); len(r.out) > 0 {
			t.Errorf("%s: %+v", x.name, r.out)
		}
		d.Close()
	}
	var none *Uncore
	if c, err := none.Read(); c != nil || err != nil {
		t.Error("nobody reads something")
	}
	none.Close()
}

// What this machine counts moves; where it cannot, the reason is named.
func TestDRAM(t *testing.T) {
	d := OpenDRAM(FS{})
	defer d.Close()
	c, err := d.Read()
	if err != nil || (c == nil) != (d.Missing != "") {
		t.Errorf("%+v, %v; missing: %q", c, err, d.Missing)
	}
	t.Log(d.Missing)
}

// Bits of a format need not be next to each other.
func TestEventConfig(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "event"), "config:0-3,32-35\n")
	put(t, filepath.Join(dir, "flag"), "config:63\n")
	put(t, filepath.Join(dir, "other"), "config1:0-3\n")
	if c, err := eventConfig(dir, "event=0xab,flag"); err != nil || c != 1<<63|0xa<<32|0xb {
		t.Errorf("%#x, %v", c, err)
	}
	for _, bad := range []string{"", "event", "event=", "event=-1", "event=0x1ab", "other=1", "event=1,", "/=1"} {
		if c, err := eventConfig(dir, bad); err == nil && bad != "event" {
			t.Errorf("%q is %#x", bad, c)
		}
	}
}
