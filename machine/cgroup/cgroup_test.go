// SPDX-License-Identifier: MIT

package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/cgroup/cgrouptest"
)

// host is a made-up machine: files by path, below a temporary folder that stands for @.
func host(t *testing.T, groups, mounts string, files map[string]string) *Groups {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"proc/cgroup": groups, "proc/mountinfo": strings.ReplaceAll(mounts, "@", root)}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		write(t, filepath.Join(root, name), text)
	}
	g, err := open(filepath.Join(root, "proc"), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	g.at = groups
	t.Cleanup(g.Close)
	return g
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, g *Groups) *Reading {
	t.Helper()
	r, err := g.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The limit of a slice above a service is found, and that of the service.
func TestVersion2(t *testing.T) {
	const at = "cg/a.slice/b.service/"
	files := map[string]string{
		at + "cgroup.procs": "", at + "cgroup.type": "domain\n", at + "cpu.max": "max 100000\n",
		at + "cpu.stat":    "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		at + "memory.high": "1048576\n", at + "memory.max": "max\n",
		at + "memory.events.local": "low 0\nhigh 7\nmax 0\noom 0\n",
		at + "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 " +
			"avg60=0.00 avg300=0.00 total=1000\n",
		"cg/a.slice/cgroup.type": "domain\n", "cg/a.slice/cpu.max": "50000 100000\n",
		"cg/a.slice/cpu.stat": "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 100\nnr_bursts 0\n",
		"cg/cpu.stat":         "usage_usec 5\n",
	}
	g := host(t, "0::/a.slice/b.service\n", "30 24 0:26 / @/cg rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
		files)
	if g.Unseen() != nil {
		t.Errorf("unseen %q: the root is there", g.Unseen())
	}
	before := read(t, g)
	root := filepath.Dir(g.proc)
	write(t, filepath.Join(root, "cg/a.slice/cpu.stat"),
		"usage_usec 9\nnr_periods 506\nnr_throttled 413\nthrottled_usec 900100\nnr_bursts 0\n")
	write(t, filepath.Join(root, at+"memory.events.local"), "low 0\nhigh 19\nmax 0\noom 0\n")
	write(t, filepath.Join(root, at+"memory.pressure"),
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=6234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n")
	d := Between(before, read(t, g))
	if len(d.CPU) != 3 || d.CPU[0].Max != "" || d.CPU[0].Held() != "" || d.CPU[2].Counted {
		t.Fatalf("own %+v, root %+v", d.CPU[0], d.CPU[2])
	}
	if got, want := d.CPU[1].Held(),
		"cgroup /a.slice: cpu.max 50000 100000 throttled it in 409 of 496 periods"; got != want ||
		d.CPU[1].ThrottledUs != 900000 || d.CPU[1].Up != 1 {
		t.Errorf("%q, want %q; %+v", got, want, d.CPU[1])
	}
	if got, want := d.Memory[0].HeldHigh(),
		"cgroup /a.slice/b.service: memory.high 1048576 made tasks reclaim memory 12 times"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p := d.Pressure; p.MemorySome == nil || *p.MemorySome != 5000 || *p.MemoryFull != 0 || p.CPUSome != nil {
		t.Errorf("pressure %+v", p)
	}
	// A limit that was lifted before the end was there all the same.
	write(t, filepath.Join(root, "cg/a.slice/cpu.max"), "max 100000\n")
	if got := Between(before, read(t, g)).CPU[1].Max; got != "50000 100000" {
		t.Errorf("lifted: %q", got)
	}
	write(t, filepath.Join(root, "cg/a.slice/cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n")
	if d := Between(before, read(t, g)); d.CPU[1].Counted || d.CPU[1].Held() != "" {
		t.Errorf("counters that fell are figures: %+v", d.CPU[1])
	}
	write(t, filepath.Join(root, "proc/cgroup"), "0::/elsewhere\n")
	if r, err := g.Read(); err == nil {
		t.Errorf("moved elsewhere, and read: %+v", r)
	}
}

// Version 1 has the times in nanoseconds, no memory.high, and a hierarchy for each controller.
// The pressure is that of the group of version 2 beside it.
func TestVersion1(t *testing.T) {
	g := host(t, "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n0::/\n", ""+
		"31 23 0:28 / @/cg rw - tmpfs tmpfs rw\n"+
		"32 31 0:29 /docker/x @/cg/cpu\\040here rw - cgroup cgroup rw,cpu,cpuacct\n"+
		"33 31 0:30 /docker/x @/cg/memory rw - cgroup cgroup rw,memory\n"+
		"34 31 0:30 / @/cg/unified rw - cgroup2 cgroup2 rw\n", map[string]string{
		"cg/cpu here/cgroup.procs": "", "cg/cpu here/cpu.cfs_quota_us": "150000\n",
		"cg/cpu here/cpu.cfs_period_us": "100000\n",
		"cg/cpu here/cpu.stat":          "nr_periods 496\nnr_throttled 409\nthrottled_time 7000000\n",
		"cg/memory/cgroup.procs":        "", "cg/memory/memory.limit_in_bytes": "9223372036854771712\n",
		"cg/memory/memory.failcnt": "0\n",
		"cg/unified/cgroup.procs":  "", "cg/unified/memory.pressure": "some total=5\n",
	})
	r := read(t, g)
	if len(r.CPU) != 1 || r.CPU[0].ThrottledUs != 7000 || r.CPU[0].Held() != "cgroup /docker/x: cpu.max 150000 "+
		"100000 (cpu.cfs_quota_us, cpu.cfs_period_us) throttled it in 409 of 496 periods" {
		t.Errorf("%+v: %q", r.CPU, r.CPU[0].Held())
	}
	if len(r.Memory) != 1 || r.Memory[0].Max != "" || *r.Memory[0].MaxEvents != 0 {
		t.Errorf("no limit of memory: %+v", r.Memory)
	}
	if r.Pressure.MemorySome != nil {
		t.Error("the root's pressure, which is the machine's, is the group's")
	}
	if n := len(g.Unseen()); n != 2 {
		t.Errorf("what is above the container is not seen, and nobody hears of it: %q", g.Unseen())
	}
}

// In a namespace the root is a group like others; a mount of another part does not show the group.
func TestUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		groups, mounts string
		files          map[string]string
		levels, unseen int
	}{
		"namespace": {"0::/\n", "30 24 0:26 / @/cg rw - cgroup2 cgroup2 rw\n",
			map[string]string{"cg/cgroup.procs": "", "cg/cgroup.type": "domain\n", "cg/cpu.max": "50000 100000\n"}, 1,
			2},
		"another part": {"0::/a\n", "30 24 0:26 /b @/cg rw - cgroup2 cgroup2 rw\n",
			map[string]string{"cg/cgroup.procs": ""}, 0, 2},
		"a name that fits": {"0::/ab\n", "30 24 0:26 /a @/cg rw - cgroup2 cgroup2 rw\n",
			map[string]string{"cg/cgroup.procs": ""}, 0, 2},
		"outside": {"0::/../x\n", "30 24 0:26 / @/cg rw - cgroup2 cgroup2 rw\n",
			map[string]string{"cg/cgroup.procs": ""}, 0, 2},
		"not mounted": {"0::/a\n", "", nil, 0, 2},
		"no groups":   {"", "", nil, 0, 0},
		"covered by another": {"0::/a\n",
			"30 24 0:26 / @/cg rw - cgroup2 cgroup2 rw\n31 24 0:26 / @/gone rw - cgroup2 cgroup2 rw\n",
			map[string]string{"cg/a/cgroup.procs": "", "cg/a/cgroup.type": "domain\n"}, 2, 0},
	} {
		g := host(t, c.groups, c.mounts, c.files)
		if r := read(t, g); len(r.CPU) != c.levels || len(g.Unseen()) != c.unseen {
			t.Errorf("%s: %d levels, unseen %q; want %d, %d", name, len(r.CPU), g.Unseen(), c.levels, c.unseen)
		}
	}
}

// The kernel's own count of a group that a busy loop of its fills.
func TestIntegrationThrottled(t *testing.T) {
	group := cgrouptest.New(t, "cpu")
	group.LimitCPU(2000, 10000)
	cmd := group.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var g *Groups
	await.Until(t, "the loop is in its group", func() (in bool) {
		var err error
		if g, err = open(fmt.Sprintf("/proc/%d", cmd.Process.Pid), kernelfile.ReadFile); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(g.cpu.places, func(p place) bool { return p.name == group.Name })
	})
	before := read(t, g)
	var c CPU
	await.Until(t, "its limit has throttled it", func() bool {
		c = Between(before, read(t, g)).CPU[0]
		return c.Throttled > 3 && c.ThrottledUs > 0
	})
	if c.Name != group.Name || c.Max != "2000 10000" || c.Periods < c.Throttled ||
		!strings.Contains(c.Held(), "cpu.max 2000 10000") {
		t.Errorf("%+v: %q", c, c.Held())
	}
}

// Our own groups can be read, whatever they are, also where /sys shows none.
func TestIntegrationOwnGroups(t *testing.T) {
	g, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if r := read(t, g); len(r.CPU) == 0 && g.Unseen() == nil {
		t.Error("no group, and none that is not seen")
	}
	for _, h := range parseGroups(g.at) {
		if h.v1 && !h.has("cpu") && !h.has("memory") {
			continue
		}
		f, err := mount(&h)
		if err != nil {
			t.Log(err) // a container may not
			continue
		}
		m := mounted{v1: h.v1, root: "/", point: fmt.Sprintf("/proc/self/fd/%d", f.Fd())}
		if _, err := os.ReadFile(filepath.Join(m.levels(h.path)[0].dir, "cgroup.procs")); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}
