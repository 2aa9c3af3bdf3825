// SPDX-License-Identifier: MIT

package survey

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fixture makes a host's files: those of /proc below proc, of /sys below sys.
func fixture(t *testing.T, files map[string]string) FS {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return FS{Proc: filepath.Join(dir, "proc"), Sys: filepath.Join(dir, "sys"), Root: dir}
}

func host() map[string]string {
	return map[string]string{
		"proc/sys/kernel/osrelease":      "7.3.4-amd64\n",
		"proc/sys/kernel/random/boot_id": "0b0e2f6a-1111-2222-3333-444455556666\n",
		"proc/cmdline": "root=UUID=0b0e2f6a-1111-2222-3333-444455556666 isolcpus=2-7 " +
			"rd.iscsi.password=geheim quiet\n",
		"boot/config-7.3.4-amd64": "# Linux 7.3.4\nCONFIG_HZ=250\nCONFIG_PREEMPT_LAZY=y\nCONFIG_MLX5_CORE=m\nCONFIG_DEFAULT_TCP_CONG=\"cubic\"\nCONFIG_MODULE_SIG_KEY=\"certs/secret.pem\"\n# CONFIG_KASAN is not set\n",
		"proc/cpuinfo": "processor\t: 0\nvendor_id\t: " +
			"GenuineIntel\nmodel name\t: Xeon\nmicrocode\t: 0x1\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: " +
			"1\nmodel name\t: another\n",
		"proc/meminfo": "MemTotal:       263000000 " +
			"kB\nMemFree: 1 kB\n",
		"sys/class/dmi/id/bios_version":                                     "2.1.3\n",
		"sys/class/dmi/id/product_serial":                                   "SN-4711\n",
		"sys/class/dmi/id/product_uuid":                                     "0b0e2f6a-1111-2222-3333-444455556666\n",
		"sys/class/dmi/id/board_asset_tag":                                  "TAG-4711\n",
		"sys/devices/system/cpu/online":                                     "0-3\n",
		"sys/devices/system/cpu/cpu0/microcode/version":                     "0x2b000590\n",
		"sys/devices/system/cpu/cpu1/microcode/version":                     "0x2b000590\n",
		"sys/devices/system/cpu/cpu0/topology/thread_siblings_list":         "0,2\n",
		"sys/devices/system/cpu/cpu1/topology/thread_siblings_list":         "1,3\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":              "performance\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":              "powersave\n",
		"sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference": "performance\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":                      "1\n",
		"sys/devices/system/cpu/smt/control":                                "on\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state3/name":                   "C6\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state3/disable":                "1\n",
		"sys/devices/system/cpu/vulnerabilities/retbleed":                   "Mitigation: IBRS\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                        "always [madvise] never\n",
		"sys/kernel/iommu_groups/0/type":                                    "DMA-FQ\n",
		"sys/kernel/iommu_groups/1/type":                                    "identity\n",
		"sys/class/iommu/dmar0":                                             "",
		"sys/class/iommu/dmar1":                                             "",
		"sys/devices/system/node/node0/cpulist":                             "0-3\n",
		"sys/devices/system/node/node0/distance":                            "10 21\n",
		"proc/sys/net/core/rmem_max":                                        "212992\n",
		"proc/sys/net/ipv4/tcp_rmem":                                        "4096\t131072\t6291456\n",
		"proc/sys/net/ipv4/tcp_fastopen_key":                                "11111111-22222222-33333333-44444444\n",
		"proc/sys/net/ipv6/conf/all/stable_secret":                          "fe80::1\n",
		"proc/sys/net/core/netdev_rss_key":                                  "01:02:03:04:05:06:07\n",
		"proc/sys/net/ipv4/conf/all/rp_filter":                              "1\n",
		"proc/sys/net/ipv4/conf/enp1s0/rp_filter":                           "2\n",
		"proc/sys/net/ipv4/conf/enp1s0.100/rp_filter":                       "0\n",
		"proc/sys/net/ipv4/conf/enx0123456789ab/rp_filter":                  "2\n",
		"proc/sys/net/ipv4/neigh/enp1s0/gc_stale_time":                      "60\n",
		"proc/sys/net/ipv4/fib_multipath_hash_seed":                         "4711\n",
		"proc/sys/net/ipv6/ioam6_id":                                        "4711\n",
		"proc/sys/net/ipv6/ioam6_id_wide":                                   "4711\n",
		"proc/sys/net/ipv6/conf/all/ioam6_id":                               "4711\n",
		"proc/sys/net/ipv6/conf/enp1s0/ioam6_id_wide":                       "4711\n",
		"proc/sys/net/ax25/dl1abc/ip_default_mode":                          "68\n",
		"proc/sys/vm/swappiness":                                            "60\n",
		"proc/sys/vm/stat_refresh":                                          "x\n",
	}
}

// What a host is is in its snapshot; whose it is is not.
func TestWhole(t *testing.T) {
	s := Whole(fixture(t, host()), Devs{Port: "enp1s0", Upper: "enp1s0.100"})
	for name, want := range map[string]string{
		"boot/id":                                 "0b0e2f6a-1111-2222-3333-444455556666",
		"kernel/release":                          "7.3.4-amd64",
		"kernel/command line":                     "root=… isolcpus=2-7 rd.iscsi.password=… quiet",
		"config/HZ":                               "250",
		"config/PREEMPT_LAZY":                     "y",
		"config/DEFAULT_TCP_CONG":                 "cubic",
		"cpu/model name":                          "Xeon",
		"cpu/microcode":                           "0x2b000590",
		"cpu/threads of a core":                   "0,2 + 1,3",
		"cpu/smt control":                         "on",
		"cpu/vulnerability retbleed":              "Mitigation: IBRS",
		"machine/virtual":                         "yes",
		"ram/total":                               "263000000 kB",
		"dmi/bios_version":                        "2.1.3",
		"cpufreq/governor":                        "performance + powersave",
		"cpufreq/energy preference":               "performance",
		"cpufreq/intel_pstate no_turbo":           "1",
		"cpufreq/idle state C6 disabled":          "1",
		"memory/transparent_hugepage enabled":     "madvise",
		"iommu/units":                             "dmar",
		"iommu/modes":                             "DMA-FQ + identity",
		"numa/nodes":                              "1",
		"numa/node 0 distances":                   "10 21",
		"sysctl/net.core.rmem_max":                "212992",
		"sysctl/net.ipv4.tcp_rmem":                "4096 131072 6291456",
		"sysctl/net.ipv4.conf.all.rp_filter":      "1",
		"sysctl/net.ipv4.conf.DEV.rp_filter":      "2",
		"sysctl/net.ipv4.conf.UPPER.rp_filter":    "0",
		"sysctl/net.ipv4.neigh.DEV.gc_stale_time": "60",
		"sysctl/vm.swappiness":                    "60",
	} {
		if got, ok := s.Value(name); !ok || got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	text := string(s.Encode())
	for _, not := range []string{"4711", "geheim", "11111111", "stable_secret", "rss_key", "01:02", "0123456789ab",
		"secret.pem", "stat_refresh", "MLX5", "another", "root=UUID", "hash_seed", "ioam6_id", "ax25", "dl1abc"} {
		if strings.Contains(text, not) {
			t.Errorf("it has %q", not)
		}
	}
}

// A module more or less changes the hash, and the hash alone.
func TestConfigHash(t *testing.T) {
	files := host()
	before := Whole(fixture(t, files), Devs{})
	files["boot/config-7.3.4-amd64"] = strings.Replace(files["boot/config-7.3.4-amd64"], "=m", "=n", 1)
	d := Diff(before, Whole(fixture(t, files), Devs{}))
	if len(d) != 2 || d[0].Name != "config/MLX5_CORE" || d[1].Name != "kernel/config hash" {
		t.Errorf("%+v", d)
	}
}

func TestCommandLine(t *testing.T) {
	modules := t.TempDir()
	if err := os.Mkdir(filepath.Join(modules, "mlx5_core"), 0o755); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"":                                      "",
		"BOOT_IMAGE=/vmlinuz ro":                "BOOT_IMAGE=… ro",
		"mlx5_core.prof_sel=3":                  "mlx5_core.prof_sel=3",
		"mlx5_core.name=word":                   "mlx5_core.name=…",
		"other.number=3":                        "other.number=…",
		"ip=10.0.0.2::10.0.0.1 nohz_full=1-3,5": "ip=… nohz_full=1-3,5",
		"console=10.0.0.1":                      "console=…",
		"netconsole=@10.0.0.1/eth0,@10.0.0.2/01:02:03:04:05:06": "netconsole=…",
		`dyndbg="file x +p" quiet`:                              "dyndbg=… quiet",
		"mitigations=auto,nosmt -- --password x":                "mitigations=auto,nosmt -- …",
		"f3a9c0d5b1e24f7c8a6d9e0b1c2d3e4f5a6b7c8d9":             "…",
		"deadbeefdeadbeefdeadbeefdeadbeef ro":                   "… ro",
		"db1.customer.example tsc_secret quiet":                 "… … quiet",
		"c2VjcmV0a2V5MTIzNDU2Nzg5MA== nomodeset":                "… nomodeset",
		"c2VjcmV0a2V5= thash_entries=":                          "… …",
		"a1b2c3d4e5f6a7b8=x kasan quiet":                        "… … quiet",
		"9b1deb4d quiet":                                        "… quiet",
	} {
		if got := commandLine(in, modules); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// The machine that the test runs on has facts, and none of its addresses among them.
func TestThisHost(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	s := Whole(FS{}, Devs{Port: "lo"})
	for _, name := range []string{"kernel/release", "boot/id", "cpu/online", "sysctl/net.ipv4.tcp_rmem",
		"sysctl/vm.swappiness", "sysctl/net.ipv4.conf.DEV.rp_filter", "ram/total"} {
		if _, ok := s.Value(name); !ok {
			t.Errorf("no %s", name)
		}
	}
	if _, err := Parse(s.Encode()); err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(string(s.Encode()))
	for _, i := range all {
		if mac := i.HardwareAddr.String(); mac != "" && mac != "00:00:00:00:00:00" && strings.Contains(text, mac) {
			t.Errorf("the address of %s is in it", i.Name)
		}
	}
	if m := regexp.MustCompile(`[0-9a-f]{2}(:[0-9a-f]{2}){5}`).FindString(text); m != "" {
		t.Errorf("%s is in it", m)
	}
}

// No fact is a counter: one that is another each time is no setting. Other tests may set one
// meanwhile, but not each time.
func TestNoFactCounts(t *testing.T) {
	const times = 6
	changed := map[string]int{}
	before := Live(FS{}, Devs{Port: "lo"})
	for range times {
		now := Live(FS{}, Devs{Port: "lo"})
		for _, d := range Diff(before, now) {
			changed[d.Name]++
		}
		before = now
	}
	for name, n := range changed {
		if n == times {
			t.Errorf("%s changes by itself: it is no setting", name)
		}
	}
}

// What is alive of a whole snapshot is what is read alone.
func TestLive(t *testing.T) {
	fs := fixture(t, host())
	devs := Devs{Port: "enp1s0"}
	whole, now := Whole(fs, devs), Live(fs, devs)
	for _, f := range now.Facts {
		if !f.Live() {
			t.Errorf("%s is not in an area that is alive", f.Name)
		}
	}
	if d := Diff(whole, whole.Now(now)); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}
