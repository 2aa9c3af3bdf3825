// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

func TestChecksAreComplete(t *testing.T) {
	complete(t, Checks())
}

// complete: every check says what was found, and one that is not ok what to do.
func complete(t *testing.T, checks []wire.Check) {
	t.Helper()
	for _, c := range checks {
		if c.Name == "" || c.Found == "" {
			t.Errorf("check says nothing: %+v", c)
		}
		switch c.Status {
		case "ok":
		case "warn", "lacking":
			if c.Fix == "" && c.Needed == "" {
				t.Errorf("%s is %s without what to do: %+v", c.Name, c.Status, c)
			}
		default:
			t.Errorf("%s: status %q", c.Name, c.Status)
		}
	}
}

func TestEveryModeHasALadder(t *testing.T) {
	for _, p := range modes.All() {
		if _, ok := needs[p.Role][p.Name]; !ok {
			t.Errorf("%s %s has none", p.Role, p.Name)
		}
	}
	for _, dev := range []string{"", "lo", "no-such-if"} {
		for _, l := range Ladders(dev) {
			complete(t, l.Rungs)
			last := l.Rungs[len(l.Rungs)-1]
			if last.Name != "attempt" || (last.Status == "ok") != l.Supported {
				t.Errorf("%s on %q ends with %+v, supported %v", l.Name, dev, last, l.Supported)
			}
			if i := slices.IndexFunc(l.Rungs, func(c wire.Check) bool { return c.Name == deviceRung && c.Status == "lacking" }); i >= 0 && i != len(l.Rungs)-2 {
				t.Errorf("%s on %q goes on without an interface: %+v", l.Name, dev, l.Rungs)
			}
		}
	}
}

// good are the facts of a host with a NIC that can do everything.
func good(driver string) *facts {
	yes := uring.Feature{Supported: true, Kernel: "6.15"}
	return &facts{dev: "eth0", kernel: "7.2.13-amd64", caps: wire.Check{Status: "ok", Found: "CAP_NET_ADMIN"}, lock: wire.Check{Name: "memlock limit", Status: "ok", Found: "unlimited"},
		huge: wire.Check{Name: "huge pages", Status: "ok", Found: "64"}, uring: uring.Features{Ring: yes, Zcrx: yes, ZcrxNoDevice: yes},
		driver: nic.Driver{Name: driver, Firmware: "1.2.3"}, link: nic.Link{Up: true, Carrier: true, MTU: 4148}, split: nic.HeaderSplit{State: nic.SplitOn}, queues: 8,
		features: map[string]nic.Feature{nic.FeatureNTuple: {Known: true, Hard: true, Active: true}, nic.FeatureSG: {Known: true, Active: true}},
		slot:     slot{speed: "16.0 GT/s PCIe", maxSpeed: "16.0 GT/s PCIe", width: "16", maxWidth: "16", mbits: 200000},
		takes:    map[string]takes{}, bufLen: true}
}

func find(t *testing.T, f *facts, mode, rung string) wire.Check {
	t.Helper()
	rungs := f.rungs(stream.RX, mode)
	i := slices.IndexFunc(rungs, func(c wire.Check) bool { return c.Name == rung })
	if i < 0 {
		t.Fatalf("no rung %q in %+v", rung, rungs)
	}
	complete(t, rungs)
	return rungs[i]
}

// What zcrx lacks is no word on devmem.
func TestProvidersByMode(t *testing.T) {
	f := good("bnxt_en")
	f.takes["zcrx"] = takes{provider: &fault.Unsupported{Op: "io_uring zero-copy receive", Err: unix.EINVAL, How: "use Linux 6.15"}}
	if c := find(t, f, "zcrx", "memory providers"); c.Status != "lacking" || c.Errno != "EINVAL" {
		t.Errorf("zcrx: %+v", c)
	}
	if c := find(t, f, "devmem", "memory providers"); c.Status != "ok" {
		t.Errorf("devmem: %+v", c)
	}
}

func TestGoodNICHasNothingLacking(t *testing.T) {
	for name, d := range drivers {
		for _, mode := range []string{"zcrx", "devmem"} {
			for _, c := range good(name).rungs(stream.RX, mode) {
				if c.Status == "lacking" && (d.zeroCopy || c.Name != "driver") {
					t.Errorf("%s on %s: %+v", mode, name, c)
				}
			}
		}
		if c := find(t, good(name), "zcrx", "driver"); (c.Status == "lacking") == d.zeroCopy {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestRungsSayWhatIsLacking(t *testing.T) {
	refused := func(errno unix.Errno, how string) error { return &fault.Error{Op: "ask eth0", Err: errno, How: how} }
	for name, x := range map[string]struct {
		rung, status, errno, fix string
		spoil                    func(*facts)
	}{
		"old kernel":         {"kernel", "lacking", "", "use Linux 6.15", func(f *facts) { f.kernel = "6.14.9" }},
		"old for the driver": {"driver", "lacking", "", "use Linux 6.17", func(f *facts) { f.kernel = "6.16.0"; f.driver.Name = "mlx5_core" }},
		"unknown driver":     {"driver", "warn", "", "", func(f *facts) { f.driver.Name = "new_nic" }},
		"no capability":      {"capability", "lacking", "EPERM", "run as root", func(f *facts) { f.caps = wire.Check{Status: "warn", Found: "none", Fix: "run as root"} }},
		"no split":           {"header split", "lacking", "EOPNOTSUPP", "another NIC", func(f *facts) { f.splitErr = refused(unix.EOPNOTSUPP, "use another NIC") }},
		"split untold":       {"header split", "lacking", "", "use a NIC", func(f *facts) { f.split = nic.HeaderSplit{Threshold: -1} }},
		"one queue":          {"queues", "lacking", "", "ethtool -L eth0 combined 2", func(f *facts) { f.queues = 1 }},
		"no RSS":             {"RSS", "lacking", "EOPNOTSUPP", "h", func(f *facts) { f.rssErr = refused(unix.EOPNOTSUPP, "h") }},
		"no rules":           {"ntuple rules", "lacking", "EOPNOTSUPP", "h", func(f *facts) { f.rulesErr = refused(unix.EOPNOTSUPP, "h") }},
		"rules fixed off":    {"ntuple rules", "lacking", "", "use a NIC", func(f *facts) { f.features[nic.FeatureNTuple] = nic.Feature{Known: true} }},
		"XDP":                {"XDP", "lacking", "EEXIST", "ip link set dev eth0 xdp off", func(f *facts) { f.link.XDP = true }},
		"no providers": {"memory providers", "lacking", "EOPNOTSUPP", "other", func(f *facts) {
			f.takes["zcrx"] = takes{provider: &fault.Unsupported{Op: "register", Err: unix.EOPNOTSUPP, How: "other NIC"}}
		}},
		"busy queue": {"free queue", "lacking", "EEXIST", "--queue", func(f *facts) {
			f.takes["zcrx"] = takes{queue: &fault.Unsupported{Op: "RX queue 3 is taken", Err: unix.EEXIST, How: "choose another with --queue"}}
		}},
		"pages only":    {"long buffers", "warn", "", "Linux 7.0", func(f *facts) { f.bufLen = false }},
		"down":          {"interface", "lacking", "", "ip link set eth0 up", func(f *facts) { f.link.Up = false }},
		"gone":          {"interface", "lacking", "ENODEV", "h", func(f *facts) { f.err = refused(unix.ENODEV, "h") }},
		"slow slot":     {"PCIe", "warn", "", "ceiling", func(f *facts) { f.slot.width, f.slot.maxWidth = "4", "4" }},
		"narrow slot":   {"PCIe", "warn", "", "the card can do", func(f *facts) { f.slot.width = "8"; f.slot.mbits = 0 }},
		"IOMMU":         {"IOMMU of the NIC", "warn", "", "iommu=pt", func(f *facts) { f.iommu = "DMA-FQ" }},
		"MTU":           {"MTU", "warn", "", "--mtu 4148", func(f *facts) { f.link.MTU = 1500 }},
		"no huge pages": {"huge pages", "warn", "", "sysctl", func(f *facts) { f.huge = wire.Check{Name: "huge pages", Status: "warn", Found: "0", Fix: "sysctl -w"} }},
	} {
		t.Run(name, func(t *testing.T) {
			f := good("bnxt_en")
			x.spoil(f)
			c := find(t, f, "zcrx", x.rung)
			if c.Status != x.status || c.Errno != x.errno || !strings.Contains(c.Fix, x.fix) {
				t.Errorf("%+v", c)
			}
		})
	}
}

// What a run sets by itself is no obstacle, and the command is there all the same.
func TestWhatARunSetsIsNoObstacle(t *testing.T) {
	f := good("mlx5_core")
	f.split = nic.HeaderSplit{State: nic.SplitOff, Threshold: 256}
	f.features[nic.FeatureNTuple] = nic.Feature{Known: true, Hard: true}
	for rung, command := range map[string]string{
		"header split": "ethtool -K eth0 rx-gro-hw on && ethtool -G eth0 tcp-data-split on hds-thresh 0",
		"hds-thresh":   "ethtool -G eth0 tcp-data-split on hds-thresh 0",
		"ntuple rules": "ethtool -K eth0 ntuple on",
	} {
		if c := find(t, f, "zcrx", rung); c.Status != "ok" || c.Command != command {
			t.Errorf("%s: %+v", rung, c)
		}
	}
}

func TestImpossibleCells(t *testing.T) {
	if d := drivers["mlx5_core"].impossible; len(d) != 1 || !strings.Contains(d[0], "software GRO") {
		t.Errorf("mlx5: %q", d)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		release, version string
		want             bool
	}{{"6.14.0-rc1", "6.15", true}, {"6.15.0", "6.15", false}, {"7.0-1-amd64", "6.18", false}, {"6.9.3", "6.15", true}, {"weird", "6.15", false}, {"5.10.0", "6.0", true}} {
		if got := older(c.release, c.version); got != c.want {
			t.Errorf("%s older than %s: %v", c.release, c.version, got)
		}
	}
}

// The rung that decides says what the kernel answered, and the command that helps.
func TestAttempt(t *testing.T) {
	below := []wire.Check{{Name: "kernel", Status: "ok", Command: "none"}, {Name: "capability", Status: "lacking", Errno: "EPERM", Fix: "run as root", Command: "sudo"}, {Name: "XDP", Status: "lacking", Command: "xdp off"}}
	for _, x := range []struct {
		err  error
		want wire.Check
	}{
		{nil, wire.Check{Status: "ok", Found: "works"}},
		{&fault.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EOPNOTSUPP, How: "other NIC"},
			wire.Check{Status: "lacking", Found: "register: operation not supported (EOPNOTSUPP)", Errno: "EOPNOTSUPP", Fix: "other NIC"}},
		{&fault.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EEXIST, How: "detach it: xdp off"},
			wire.Check{Status: "lacking", Found: "register: file exists (EEXIST)", Errno: "EEXIST", Fix: "detach it: xdp off", Command: "xdp off"}},
		{errors.New("it does not"), wire.Check{Status: "lacking", Found: "it does not", Errno: "EPERM", Fix: "run as root", Command: "sudo"}},
	} {
		got := attempt(x.err, below)
		x.want.Name, x.want.Needed = "attempt", got.Needed
		if got != x.want || got.Needed == "" {
			t.Errorf("%v: %+v, want %+v", x.err, got, x.want)
		}
	}
	c := feature("io_uring", uring.Feature{Kernel: "6.15", Errno: unix.EINVAL, Reason: "io_uring_setup: invalid argument", Fix: "use Linux 6.15 or later"})
	if c.Status != "lacking" || c.Errno != "EINVAL" || c.Needed != "Linux 6.15" {
		t.Errorf("%+v", c)
	}
}

// Whoever has CAP_IPC_LOCK is exempt of the limit, whatever the user is called.
func TestMemlock(t *testing.T) {
	const all, none, lock = "CapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n", "CapEff:\t0000000000004000\n"
	const host, inside = "         0          0 4294967295\n", "         0       1000          1\n"
	for _, x := range []struct {
		status, users string
		limit         uint64
		want, found   string
	}{
		{none, host, unix.RLIM_INFINITY, "ok", "unlimited"},
		{all, host, 8 << 20, "ok", "8192 KiB, but CAP_IPC_LOCK exempts"},
		{lock, host, 8 << 20, "ok", "exempts"},
		{none, host, 8 << 20, "warn", "without CAP_IPC_LOCK"}, // also of root in a container
		{all, inside, 8 << 20, "warn", "only in a user namespace"},
		{"", host, 8 << 20, "warn", "has no CapEff"},
	} {
		c := fixture(t, map[string]string{"proc/self/status": "Name:\tzcbench\n" + x.status, "proc/self/uid_map": x.users}).memlock(x.limit)
		if c.Status != x.want || !strings.Contains(c.Found, x.found) {
			t.Errorf("%q of %q: %+v", x.status, x.users, c)
		}
		complete(t, []wire.Check{c})
	}
}

func TestPCIe(t *testing.T) {
	for _, c := range []struct {
		gts   float64
		lanes int
		want  float64 // raw data rate x 0.9, from the PCIe specification's 31.5 GB/s at 16 GT/s x16
	}{{16, 16, 226.9}, {8, 16, 113.4}, {5, 8, 28.8}, {32, 16, 453.7}} {
		if got := pcieGbps(c.gts, c.lanes); got < c.want-0.1 || got > c.want+0.1 {
			t.Errorf("%v GT/s x%d: %.1f Gbit/s, want %.1f", c.gts, c.lanes, got, c.want)
		}
	}
	if _, ok := (slot{}).check(); ok {
		t.Error("a device without a slot has a PCIe rung")
	}
	if _, err := parseGTs("Unknown"); err == nil {
		t.Error("parsed an unknown speed")
	}
}

func fixture(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

func TestHostChecks(t *testing.T) {
	meminfo := "MemTotal: 1 kB\nHugePages_Total:       4\nHugePages_Free:        3\nHugepagesize:       2048 kB\n"
	fs := fixture(t, map[string]string{"proc/meminfo": meminfo, "proc/cmdline": "root=/dev/sda", "proc/77/stat": "77 (irqbalance) S 1 1",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "sys/class/iommu/dmar0/x": ""})
	for i, want := range []struct{ found, command string }{
		{"3 of 4 free, of 2048 KiB", "sysctl -w vm.nr_hugepages=33"}, {"powersave on 1 CPUs", "cpupower frequency-set -g performance"},
		{"running", "systemctl stop irqbalance"}, {"1 units, kernel command line has no iommu=pt", ""}} {
		if c := fs.checks()[i]; c.Status != "warn" || c.Found != want.found || c.Command != want.command {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	fs = fixture(t, map[string]string{"proc/meminfo": strings.ReplaceAll(meminfo, "3", "300"), "proc/cmdline": "iommu=pt",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n", "sys/class/iommu/dmar0/x": ""})
	for _, c := range fs.checks() {
		if c.Status != "ok" {
			t.Errorf("%+v", c)
		}
	}
}
