// SPDX-License-Identifier: MIT

package doctor

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan/modes"
)

// good are the facts of a host with a NIC that can do everything.
func good(driver string) *facts {
	yes := uring.Feature{Supported: true, Kernel: "6.15"}
	return &facts{dev: "eth0", kernel: "7.2.13-amd64", caps: wire.Check{Status: "ok", Found: "CAP_NET_ADMIN"},
		lock: wire.Check{Name: "memlock limit", Status: "ok", Found: "unlimited"},
		huge: wire.Check{Name: "huge pages", Status: "ok", Found: "64"}, uring: uring.Features{Ring: yes, Zcrx: yes,
			ZcrxNoDevice: yes},
		driver: nic.Driver{Name: driver, Firmware: "1.2.3"}, link: nic.Link{Up: true, Carrier: true, MTU: 4148},
		split: nic.HeaderSplit{State: nic.SplitOn}, queues: 8, more: "ethtool -L eth0 combined 2",
		features: map[string]nic.Feature{nic.FeatureNTuple: {Known: true, Hard: true, Active: true},
			nic.FeatureSG: {Known: true, Active: true}},
		slot:  slot{speed: "16.0 GT/s PCIe", maxSpeed: "16.0 GT/s PCIe", width: "16", maxWidth: "16", mbits: 200000},
		takes: map[string]takes{}, bufLen: map[string]bool{"zcrx": true, "devmem": true}}
}

func receive(t *testing.T, name string) stream.Mode {
	t.Helper()
	m, err := modes.Find(stream.RX, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func find(t *testing.T, f *facts, mode, rung string) wire.Check {
	t.Helper()
	rungs := f.climb(receive(t, mode))
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
	f.takes["zcrx"] = takes{provider: &fault.Unsupported{Op: "io_uring zero-copy receive", Err: unix.EINVAL,
		How: "use Linux 6.15"}}
	if c := find(t, f, "zcrx", "memory providers"); c.Status != "lacking" || c.Errno != "EINVAL" {
		t.Errorf("zcrx: %+v", c)
	}
	if c := find(t, f, "devmem", "memory providers"); c.Status == "lacking" {
		t.Errorf("devmem: %+v", c)
	}
}

// Of bnxt the kernel's answer beforehand is not the last word, which is said; a function that
// has been refused is told so all the same.
func TestTheBindTells(t *testing.T) {
	for name, want := range map[string]string{"mlx5_core": "ok", "fbnic": "ok", "bnxt_en": "warn",
		"softnic(bnxt)": "warn"} {
		f := good(name)
		c := find(t, f, "zcrx", "memory providers")
		if c.Status != want || want == "warn" && (!strings.Contains(c.Found, "until a queue is given memory") ||
			!strings.Contains(c.Fix, "ethtool -i "+f.dev)) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	f := good("bnxt_en")
	f.tph = true // which bnxt switches on for firmware that can
	if c := find(t, f, "zcrx", "memory providers"); c.Status != "ok" {
		t.Errorf("with TPH: %+v", c)
	}
	f.takes["zcrx"] = takes{provider: &fault.Unsupported{Op: "register", Err: unix.EOPNOTSUPP, How: "other NIC"}}
	if c := find(t, f, "zcrx", "memory providers"); c.Status != "lacking" || c.Fix != "other NIC" {
		t.Errorf("refused: %+v", c)
	}
}

func TestGoodNICHasNothingLacking(t *testing.T) {
	for _, d := range driver.All {
		name := d.Name
		for _, mode := range []string{"zcrx", "devmem"} {
			for _, c := range good(name).climb(receive(t, mode)) {
				if c.Status == "lacking" && (d.Receives != "" || c.Name != "driver") {
					t.Errorf("%s on %s: %+v", mode, name, c)
				}
			}
		}
		if c := find(t, good(name), "zcrx", "driver"); (c.Status == "lacking") == (d.Receives != "") {
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
		"old kernel": {"kernel", "lacking", "", "use Linux 6.15", func(f *facts) { f.kernel = "6.14.9" }},
		"old, of a vendor": {"kernel", "warn", "", "use Linux 6.15",
			func(f *facts) { f.kernel = "5.14.0-503.11.1.el9_5.x86_64" }},
		"old for the driver": {"driver", "lacking", "", "use Linux 6.17",
			func(f *facts) { f.kernel = "6.16.0"; f.driver.Name = "mlx5_core" }},
		"of its maker": {"driver", "warn", "", "", func(f *facts) {
			f.driver.Name, f.foreign = "mlx5_core",
				true
		}},
		"unknown driver": {"driver", "warn", "", "", func(f *facts) { f.driver.Name = "new_nic" }},
		"no capability": {"capability", "lacking", "EPERM", "run as root",
			func(f *facts) { f.caps = wire.Check{Status: "warn", Found: "none", Fix: "run as root"} }},
		"no split": {"header split", "lacking", "EOPNOTSUPP", "another NIC",
			func(f *facts) { f.splitErr = refused(unix.EOPNOTSUPP, "use another NIC") }},
		"split untold": {"header split", "lacking", "", "use a NIC",
			func(f *facts) { f.split = nic.HeaderSplit{Threshold: -1} }},
		"one queue": {"queues", "lacking", "", "ethtool -L eth0 combined 2",
			func(f *facts) { f.queues, f.more = 1, "ethtool -L eth0 combined 2" }},
		"no RSS": {"RSS", "warn", "EOPNOTSUPP", "let nothing else use eth0",
			func(f *facts) { f.rssErr = refused(unix.EOPNOTSUPP, "h") }},
		"RSS in a reset": {"RSS", "lacking", "EBUSY", "h", func(f *facts) { f.rssErr = refused(unix.EBUSY, "h") }},
		"no rules": {"ntuple rules", "lacking", "EOPNOTSUPP", "h",
			func(f *facts) { f.rulesErr = refused(unix.EOPNOTSUPP, "h") }},
		"rules fixed off": {"ntuple rules", "lacking", "", "use a NIC",
			func(f *facts) { f.features[nic.FeatureNTuple] = nic.Feature{Known: true} }},
		"restart blocked": {"memory providers", "lacking", "EOPNOTSUPP", "tx_port_ts off",
			func(f *facts) { f.blocked = dropped{"time stamps", "tx_port_ts off"} }},
		"rules dropped": {"ntuple rules", "lacking", "", "fewer queues", func(f *facts) {
			f.features[nic.FeatureNTuple] = nic.Feature{Known: true, Hard: true, Wanted: true}
			f.dropped = map[string]dropped{nic.FeatureNTuple: {"too many", "fewer queues"}}
		}},
		"no split without rx-gro-hw": {"header split", "lacking", "", "rx_cqe_compress off", func(f *facts) {
			f.driver.Name, f.split.State = "mlx5_core", nic.SplitUnknown
			f.dropped = map[string]dropped{nic.FeatureHWGRO: {"compression", "rx_cqe_compress off"}}
		}},
		"XDP": {"XDP", "lacking", "EEXIST", "ip link set dev eth0 xdp off", func(f *facts) { f.link.XDP = true }},
		"no providers": {"memory providers", "lacking", "EOPNOTSUPP", "other", func(f *facts) {
			f.takes["zcrx"] = takes{provider: &fault.Unsupported{Op: "register", Err: unix.EOPNOTSUPP,
				How: "other NIC"}}
		}},
		"busy queue": {"free queue", "lacking", "EEXIST", "--queue", func(f *facts) {
			f.takes["zcrx"] = takes{queue: &fault.Unsupported{Op: "RX queue 3 is taken", Err: unix.EEXIST,
				How: "choose another with --queue"}}
		}},
		"only pages": {"long buffers", "warn", "", "Linux 7.0", func(f *facts) { f.bufLen["zcrx"] = false }},
		"down":       {"interface", "lacking", "", "ip link set eth0 up", func(f *facts) { f.link.Up = false }},
		"gone":       {"interface", "lacking", "ENODEV", "h", func(f *facts) { f.err = refused(unix.ENODEV, "h") }},
		"slow slot": {"PCIe", "warn", "", "caps every result", func(f *facts) {
			f.slot.width, f.slot.maxWidth = "4",
				"4"
		}},
		"narrow slot": {"PCIe", "warn", "", "the card supports",
			func(f *facts) { f.slot.width = "8"; f.slot.mbits = 0 }},
		"IOMMU": {"IOMMU of the NIC", "warn", "", "iommu=pt", func(f *facts) { f.iommu = "DMA-FQ" }},
		"MTU":   {"MTU", "warn", "", "--mtu 4148", func(f *facts) { f.link.MTU = 1500 }},
		"no huge pages": {"huge pages", "warn", "", "sysctl",
			func(f *facts) { f.huge = wire.Check{Name: "huge pages", Status: "warn", Found: "0", Fix: "sysctl -w"} }},
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
	if d := driver.Of("mlx5_core").Impossible; len(d) != 1 || !strings.Contains(d[0], "software GRO") {
		t.Errorf("mlx5: %q", d)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		release, version string
		want             bool
	}{{"6.14.0-rc1", "6.15", true}, {"6.15.0", "6.15", false}, {"7.0-1-amd64", "6.18", false}, {"6.9.3", "6.15", true},
		{"weird", "6.15", false}, {"5.10.0", "6.0", true}} {
		if got := older(c.release, c.version); got != c.want {
			t.Errorf("%s older than %s: %v", c.release, c.version, got)
		}
	}
}

// Every rung that a mode names is there, and every one that is there is named.
func TestRungsAreNamed(t *testing.T) {
	left := maps.Clone(rungs)
	for _, m := range modes.All {
		for _, r := range m.Needs {
			if rungs[r] == nil {
				t.Errorf("%s needs %q, which is no rung", m.Name, r)
			}
			delete(left, r)
		}
	}
	if len(left) > 0 {
		t.Errorf("no mode stands on %v", slices.Collect(maps.Keys(left)))
	}
}
