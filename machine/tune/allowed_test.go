// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/setting"
)

// What is not on the list is neither read nor written, whatever the way in.
func TestSysctlsThatAreNotOnTheList(t *testing.T) {
	for _, name := range []string{
		"kernel.core_pattern", "kernel.modprobe", "kernel.hotplug", "kernel.poweroff_cmd", "kernel.usermodehelper.bset",
		"kernel.yama.ptrace_scope", "kernel.sysrq", "kernel.numa_balancing", "kernel.randomize_va_space",
		"fs.binfmt_misc.register", "fs.suid_dumpable", "fs.protected_symlinks", "user.max_user_namespaces",
		"dev.cdrom.debug", "debug.exception-trace",
		"vm.mmap_min_addr", "vm.drop_caches", "vm.panic_on_oom", "vm.overcommit_memory", "vm.nr_hugepages.x",
		"net.core.bpf_jit_harden", "net.core.bpf_jit_enable", "net.ipv4.ip_unprivileged_port_start",
		"net.ipv4.conf.all.route_localnet", "net.ipv6.conf.eth0.accept_redirects",
		"net.ipv4.conf.eth0/100.accept_source_route", "net.ipv4.tcp_fastopen_key", "net.ipv6.conf.eth0.stable_secret",
		"net.ipv6.conf.eth0/100.stable_secret", "net.netfilter.nf_log.2", "net.ipv4.ip_forward",
		"net.ipv4.conf.all.forwarding",
		"net.ipv6.conf.all.forwarding", "net.ipv6.conf.eth0.disable_ipv6", "net.ipv4.route.flush",
		"net.ipv6.route.flush",
		"netx.a", "net", "net.", ".net.core.x", "net..core", "NET.core.rmem_max", "net.core.rmem_max ", "net core",
		"net.core.rmem_max\n",
		"net.//.//.kernel.core_pattern", "net.//.kernel.core_pattern", "net/../kernel/core_pattern",
		"net/core/rmem_max", "net.core.x\x00y",
		"net.core./x", "/proc/sys/net/core/rmem_max", "net." + strings.Repeat("a.", 100) + "b",
	} {
		fs := fixture(t, map[string]string{"proc/sys/kernel/core_pattern": "core\n",
			"proc/sys/net/core/rmem_max": "1\n"})
		if s, err := fs.Setting("sysctl " + name); err == nil || s.Get != nil || s.Set != nil {
			t.Errorf("there is a sysctl %q to set", name)
		}
		if err := fs.SetSysctl(name, "1"); err == nil {
			t.Errorf("sysctl %q was set", name)
		}
		if CheckSetting("sysctl "+name, "1") == nil {
			t.Errorf("sysctl %q passes the check", name)
		}
		for file, want := range map[string]string{"kernel/core_pattern": "core\n", "net/core/rmem_max": "1\n"} {
			if b, err := os.ReadFile(filepath.Join(fs.Proc, "sys", file)); err != nil || string(b) != want {
				t.Errorf("%q: %s is %q, %v", name, file, b, err)
			}
		}
	}
	err := CheckSysctl("kernel.core_pattern")
	if r := (*Refused)(nil); !errors.As(err, &r) || !strings.Contains(err.Error(), `"kernel.core_pattern"`) ||
		!strings.Contains(r.Fix(), "net.* ") {
		t.Errorf("%v", err)
	}
}

func TestSysctlsThatAreOnTheList(t *testing.T) {
	for _, x := range Reference.Sysctls {
		if err := CheckSetting("sysctl "+x[0], x[1]); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"vm.nr_hugepages", "net.ipv4.tcp_congestion_control",
		"net.ipv4.conf.eth0/100.rp_filter", "net.ipv6.conf.br-1@x.mtu", "net.netfilter.nf_conntrack_max",
		"net.mptcp.enabled"} {
		if err := CheckSysctl(name); err != nil {
			t.Error(err)
		}
	}
	fs := fixture(t, map[string]string{"proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1\n",
		"proc/sys/net/ipv4/ip_local_reserved_ports": "\n", "proc/sys/net/core/path": "/bin/sh\n"})
	for name, value := range map[string]string{"net.ipv4.conf.eth0/100.rp_filter": "2",
		"net.ipv4.ip_local_reserved_ports": "8080,9000-9010"} {
		s, err := fs.Setting("sysctl " + name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Get()
		if err != nil || setting.Apply(s, "this host", value) != nil {
			t.Errorf("%s: %q, %v", name, before, err)
		}
		if err := setting.Apply(s, "this host", before); err != nil {
			t.Errorf("%s is not put back: %v", name, err)
		}
	}
	// What could not be put back is not taken.
	s, err := fs.Setting("sysctl net.core.path")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get(); err == nil {
		t.Errorf("read %q, which cannot be set", v)
	}
}

// Values are numbers and words: no path, no command line, no second line.
func TestValuesOfHostSettings(t *testing.T) {
	fs := fixture(t, map[string]string{"proc/sys/net/core/rmem_max": "1\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n"})
	for name, values := range map[string][]string{
		"sysctl net.core.rmem_max": {"|/bin/sh %p", "/bin/sh", "1\n2", "1\r", "1\x00", "\x1b]0;x\a",
			strings.Repeat("1", maxSysctlValue+1), "é"},
		"governor 0": {"", "performance\n", "/x", "a b", "a\x00", strings.Repeat("x", 16), "../x"},
		"irqbalance": {"", "dancing", "stopped\n"},
	} {
		for _, v := range values {
			if i := (*setting.Invalid)(nil); !errors.As(CheckSetting(name, v), &i) {
				t.Errorf("%s takes %q: %v", name, v, CheckSetting(name, v))
			}
			s, err := fs.Setting(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Set(v) == nil {
				t.Errorf("%s was set to %q", name, v)
			}
		}
	}
	for _, name := range []string{"governor", "governor -1", "governor 01", "governor 0/../1", "governor 0 0",
		"irqbalance x", "file /etc/passwd", "sysctl"} {
		if CheckSetting(name, "performance") == nil {
			t.Errorf("there is a setting %q", name)
		}
	}
}

// Whatever it is called, a sysctl that may be set is a file below net, or one of the few
// of vm and kernel.
func FuzzSysctlName(f *testing.F) {
	for _, s := range []string{"net.core.rmem_max", "vm.max_map_count", "kernel.core_pattern",
		"net.//.//.kernel.core_pattern", "net.ipv4.conf.eth0/100.rp_filter", "net/../x", "net..x", "net./.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckSysctl(name) != nil {
			return
		}
		file, err := sysctlFile(name)
		if err != nil {
			t.Fatalf("%q is allowed and no name: %v", name, err)
		}
		if filepath.Clean(file) != file || !strings.HasPrefix(file, "net/") && !slices.Contains(beyondNet(), name) {
			t.Errorf("%q is %s", name, file)
		}
	})
}
