// SPDX-License-Identifier: MIT

package survey

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
)

func (f *facts) kernel() {
	fs := f.fs
	f.file("boot/id", fs.proc("sys/kernel/random/boot_id"))
	if id := text(fs.proc("sys/kernel/random/boot_id")); id != "" {
		// Which boot it was tells nothing of the host, and looks like what does.
		f.all[len(f.all)-1].Value = id
	}
	if fs.Proc == "" {
		// No other fact is of these: they are left out.
		f.add("kernel/files that are not its own", strings.Join(kernelfile.Covered(), " "))
	}
	f.file("kernel/release", fs.proc("sys/kernel/osrelease"))
	f.file("kernel/version", fs.proc("sys/kernel/version"))
	f.add("kernel/command line", commandLine(text(fs.proc("cmdline")), fs.sys("module")))
	f.file("kernel/tainted", fs.proc("sys/kernel/tainted"))
	f.file("kernel/security modules", fs.sys("kernel/security/lsm"))
	f.file("kernel/lockdown", fs.sys("kernel/security/lockdown"))
	f.add("kernel/preemption", text(fs.sys("kernel/debug/sched/preempt")))
	f.file("kernel/clocksource", fs.sys("devices/system/clocksource/clocksource0/current_clocksource"))
	f.file("kernel/isolated CPUs", fs.sys("devices/system/cpu/isolated"))
	f.file("kernel/nohz_full CPUs", fs.sys("devices/system/cpu/nohz_full"))
	for _, name := range []string{"sched_rt_runtime_us", "sched_autogroup_enabled", "numa_balancing", "nmi_watchdog",
		"timer_migration", "perf_event_paranoid",
		"io_uring_disabled", "bpf_stats_enabled", "unprivileged_bpf_disabled", "randomize_va_space", "panic_on_warn"} {
		f.file("kernel/"+name, fs.proc("sys/kernel", name))
	}
}

// shownParameters are patterns of the parameters of the kernel's command line whose values are
// shown: what decides how fast a host is, and is no name, address or password. Of all others
// the name is.
var shownParameters = []string{
	"isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "threadirqs", "maxcpus", "nr_cpus",
	"possible_cpus", "nosmt", "smt", "mem", "memmap", "numa",
	"numa_balancing", "idle", "intel_idle.*", "processor.*", "cpuidle.*", "cpufreq.*", "intel_pstate", "amd_pstate",
	"amd_pstate.*", "tsc", "tsc_*", "lpj", "panic", "oops", "clocksource", "hpet", "preempt",
	"skew_tick", "nmi_watchdog", "watchdog", "nowatchdog", "nosoftlockup", "mce", "audit", "selinux", "apparmor",
	"lockdown", "lsm", "mitigations", "spectre_*", "spec_*",
	"retbleed", "l1tf", "mds", "tsx", "tsx_async_abort", "srbds", "mmio_stale_data", "gather_data_sampling",
	"reg_file_data_sampling", "indirect_target_selection", "tsa", "vmscape",
	"ssbd", "pti", "kpti", "nopti", "nospectre_*", "kvm.*", "kvm-*", "iommu", "iommu.*", "intel_iommu", "amd_iommu",
	"arm-smmu*", "swiotlb", "pci", "pcie_*", "pcie_aspm", "hugepages",
	"hugepagesz", "default_hugepagesz", "hugepage_alloc_threads", "transparent_hugepage", "thp_*", "cma",
	"init_on_alloc", "init_on_free", "slub_debug", "slab_debug", "slab_nomerge", "slub_nomerge",
	"page_poison", "debug_pagealloc", "page_alloc.shuffle", "page_owner", "kfence.*", "kasan*", "kmemleak", "psi",
	"cgroup_disable", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy",
	"randomize_kstack_offset", "nokaslr", "vsyscall", "highres", "acpi", "noapic", "x2apic_phys", "nox2apic", "efi",
	"console", "earlyprintk", "loglevel", "quiet", "ro", "rw",
	"split_lock_detect", "bdev_allow_write_mounted", "net.ifnames", "biosdevname", "workqueue.*", "rcupdate.*",
	"rcutree.*", "tcp_*", "thash_entries", "uhash_entries", "audit_backlog_limit",
}

// shownValue is what such a parameter's value may look like: numbers, lists and words. There is
// room for no address: nothing with a colon and dots, no path, no name with an @.
var shownValue = lazy.Regexp(`^[A-Za-z0-9_,.:+*%!^=-]{1,200}$`)

// dotted is a value with an IPv4 address in it.
var dotted = lazy.Regexp(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)

// moduleNumber is the value of a module's own parameter that is shown: a number, a list of them,
// or a switch.
var moduleNumber = lazy.Regexp(
	`^(-?(0x)?[0-9a-f]{1,10}([,-](0x)?[0-9a-f]{1,10})*|on|off|[ynYN]|auto|force|true|false)$`)

// commandLine redacts the kernel's command line so that anybody may read it. modules is the folder
// of the modules that the kernel has: parameters of these that are numbers are shown.
func commandLine(line, modules string) string {
	var out []string
	for _, w := range words(line) {
		if w == "--" { // the rest is for init
			out = append(out, w, hidden)
			break
		}
		name, value, has := strings.Cut(w, "=")
		// Where the value is nothing but "=", the word may be a key in base64.
		bare := !has || strings.Trim(value, "=") == ""
		switch {
		case bare && slices.Contains(bareParameters, w), bare && !strings.Contains(w, "*") &&
			slices.Contains(shownParameters, w):
			out = append(out, w)
		case bare || !parameterName().MatchString(name) || digits().FindString(name) != "":
			out = append(out, hidden)
		case shown(name, value, modules):
			out = append(out, w)
		default:
			out = append(out, name+"="+hidden)
		}
	}
	return strings.Join(out, " ")
}

// bareParameters are words that stand without a value and are shown, beside those of
// shownParameters. Any other may be a key, or the name of a host.
var bareParameters = []string{
	"debug", "splash", "nosplash", "rhgb", "single", "nomodeset", "noresume", "rootwait", "fastboot", "earlycon",
	"ignore_loglevel", "initcall_debug", "keep_bootcon",
	"no_console_suspend", "no_hash_pointers", "nolapic", "nolapic_timer", "noapictimer", "no_timer_check", "notsc",
	"nohpet", "nohalt", "noefi", "nomce", "nopat", "nogbpages",
	"nohugeiomap", "nohugevmalloc", "nosgx", "noxsave", "nosmap", "nosmep", "nofsgsbase", "noinvpcid", "nopcid",
	"nopku", "nopv", "nopvspin", "norandmaps", "noreplace-smp",
	"no-kvmclock", "no-kvmapf", "no-steal-acc", "no_stf_barrier", "no_entry_flush", "no_uaccess_flush",
	"nospec_store_bypass_disable", "nospectre_v1", "nospectre_v2",
	"nospectre_bhb", "noirqdebug", "irqfixup", "irqpoll", "delayacct", "nodelayacct", "schedstats", "noautogroup",
	"nocache", "nousb", "nomodule", "text",
}

// parameterName is what names of parameters that have a value look like. A word of 33
// characters may be a key.
var parameterName = lazy.Regexp(`^[a-zA-Z][a-zA-Z0-9_.-]{0,31}$`)

// digits are more of them than the name of a parameter has.
var digits = lazy.Regexp(`(\d[^\d]*){7}`)

func shown(name, value, modules string) bool {
	if dotted().MatchString(value) || personal().MatchString(value) {
		return false
	}
	if slices.ContainsFunc(shownParameters, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
		return shownValue().MatchString(value)
	}
	module, _, ok := strings.Cut(name, ".")
	if !ok || !moduleNumber().MatchString(value) {
		return false
	}
	st, err := os.Stat(filepath.Join(modules, strings.ReplaceAll(module, "-", "_")))
	return err == nil && st.IsDir()
}

// words splits a command line as the kernel does: blanks in double quotes do not part words
// (lib/cmdline.c: next_arg, Linux 7.3.4).
func words(line string) (out []string) {
	var word strings.Builder
	quoted := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
			word.WriteRune(c)
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			if word.Len() > 0 {
				out = append(out, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(c)
		}
	}
	if word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// mostConfig bounds a kernel's configuration, which takes 300 kB.
const mostConfig = 4 << 20

// config adds the options that the kernel was built with: what is built in, and numbers. Of
// modules, which are many, and texts, the hash shows whether they differ.
func (f *facts) config() {
	b := f.readConfig()
	if b == nil {
		return
	}
	var lines []string
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, mostTable)
	for in.Scan() {
		name, value, ok := strings.Cut(in.Text(), "=")
		option, is := strings.CutPrefix(name, "CONFIG_")
		if !ok || !is || option == "" {
			continue
		}
		lines = append(lines, in.Text())
		quoted := strings.HasPrefix(value, `"`)
		if value != "m" && (!quoted || slices.Contains(shownTexts, option)) {
			f.add("config/"+option, strings.Trim(value, `"`))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	f.add("kernel/config hash", hex.EncodeToString(sum[:8])+", "+strconv.Itoa(len(lines))+" options")
}

// shownTexts are the options that are texts and shown. Others have paths, keys and names.
var shownTexts = []string{"CC_VERSION_TEXT", "RUSTC_VERSION_TEXT", "DEFAULT_TCP_CONG", "LSM", "LOCALVERSION"}

func (f *facts) readConfig() []byte {
	if gz, err := kernelfile.Open(f.fs.proc("config.gz")); err == nil {
		defer gz.Close()
		if z, err := gzip.NewReader(gz); err == nil {
			if b, err := io.ReadAll(io.LimitReader(z, mostConfig)); err == nil {
				return b
			}
		}
	}
	release := text(f.fs.proc("sys/kernel/osrelease"))
	if release == "" || strings.ContainsAny(release, "/\x00") {
		return nil
	}
	for _, p := range []string{f.fs.root("boot", "config-"+release), f.fs.root("lib/modules", release, "config"),
		f.fs.root("usr/lib/modules", release, "config")} {
		if b := read(p, mostConfig); b != nil {
			return b
		}
	}
	return nil
}
