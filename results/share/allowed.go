// SPDX-License-Identifier: MIT

package share

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// shared are the options that are told of a cell: those whose values are numbers, and words that
// zcbench itself lists. [kept] are all others, with why.
var shared = set("rx", "tx", "gro", "hw_gro", "header_split", "big_tcp", "tg_big_tcp", "cpu_layout",
	"tg_cpu_layout", "rx_buf_len", "mtu", "message", "read", "rx_buffer", "token_batch", "touch", "control",
	"probe", "probe_sample", "rcvbuf", "sndbuf", "pace", "uring_engine", "gather", "poll", "busy_poll", "request",
	"response", "in_flight", "rr_rate", "rr_timeout", "udp_batch", "udp_segmentation", "xdp_touch", "xdp_attach",
	"tuples", "burst", "queue", "flows", "queues", "steer_queue", "steer", "area_bytes", "refill_entries", "cq_entries",
	"hold", "rx_ring", "tx_ring", "channels", "hugepages", "max_idle_us", "stop_irqbalance", "turn", "queue_rings",
	"rings_in", "area_start", "object", "every", "fan_in", "both", "fastopen", "then", "tls")

// set makes a set of words.
func set(words ...string) map[string]bool {
	all := map[string]bool{}
	for _, w := range words {
		all[w] = true
	}
	return all
}

// kept are the options that are not told.
var kept = map[string]string{
	"congestion":     "the name of a module, which somebody may have written",
	"path":           "names of interfaces",
	"lease_queue":    "names an interface, and may name a network namespace",
	"xdp_redirect":   "may name an interface",
	"generator_cpus": "a list of any length",
	"area":           "may name a heap or a file",
	"tx_area":        "may name a heap or a file",
	"set":            "any setting, with any value",
	"sysctl_profile": "is made of settings, which the facts of the hosts have",
	"governor":       "is in the facts of the hosts",
}

// facts are those that are told of a host, besides what every record has: patterns of the names
// of its snapshot.
var facts = []string{
	"kernel/preemption", "kernel/clocksource", "kernel/isolated CPUs", "kernel/nohz_full CPUs", "kernel/numa_balancing",
	"kernel/lockdown", "kernel/io_uring_disabled",
	"cpu/microcode", "cpu/online", "cpu/classes", "cpu/smt active",
	"ram/total", "machine/virtual", "machine/hypervisor", "iommu/units", "iommu/modes",
	"numa/nodes", "numa/node * CPUs", "numa/node * distances", "numa/node * memory",
	"cpufreq/driver", "cpufreq/energy preference", "cpufreq/least kHz", "cpufreq/most kHz",
	"cpufreq/hardware's most kHz",
	"cpufreq/boost", "cpufreq/intel_pstate *", "cpufreq/amd_pstate *", "cpufreq/idle driver", "cpufreq/idle governor",
	"memory/transparent_hugepage enabled", "memory/transparent_hugepage defrag", "memory/hugepages-*",
	"nic/speed", "nic/duplex", "nic/PCI vendor", "nic/PCI device", "nic/PCI subsystem vendor",
	"nic/PCI subsystem device",
	"nic/PCI revision", "nic/PCIe speed", "nic/PCIe lanes", "nic/PCIe most speed", "nic/PCIe most lanes",
	"nic/NUMA node", "nic/near CPUs", "nic/IOMMU mode", "nic/virtual functions", "nic/MTU", "nic/*-max-size",
	"nic/XDP program", "nic/ring *", "nic/receive buffer", "nic/header split", "nic/header split most", "nic/channels",
	"nic/steering rules", "nic/threaded NAPI", "nic/gro_flush_timeout", "nic/napi_defer_hard_irqs",
	"nic/coalescing rx-usecs", "nic/coalescing tx-usecs", "nic/coalescing rx-frames", "nic/coalescing use-adaptive-rx",
	"nic/feature rx-gro", "nic/feature rx-gro-hw", "nic/feature rx-lro", "nic/feature rx-ntuple-filter",
	"nic/feature rx-hashing", "nic/feature tx-tcp-segmentation", "nic/feature tx-udp-segmentation",
	"sysctl/net.core.rmem_max", "sysctl/net.core.wmem_max", "sysctl/net.core.rmem_default",
	"sysctl/net.core.wmem_default", "sysctl/net.core.optmem_max", "sysctl/net.core.busy_poll",
	"sysctl/net.core.busy_read", "sysctl/net.core.netdev_budget", "sysctl/net.core.netdev_budget_usecs",
	"sysctl/net.core.dev_weight", "sysctl/net.core.default_qdisc", "sysctl/net.ipv4.tcp_rmem",
	"sysctl/net.ipv4.tcp_wmem", "sysctl/net.ipv4.tcp_congestion_control", "sysctl/net.ipv4.tcp_timestamps",
	"sysctl/net.ipv4.tcp_sack", "sysctl/net.ipv4.tcp_mtu_probing", "sysctl/net.ipv4.tcp_no_metrics_save",
	"sysctl/vm.max_map_count",
}

// recorded is a fact that every record has.
type recorded struct {
	name string
	of   func(*measure.Env) string
}

// inRecords are these, by the names that they get.
var inRecords = []recorded{
	{"kernel", func(e *measure.Env) string { return e.Kernel }},
	{"driver", func(e *measure.Env) string { return e.Driver }},
	{"firmware", func(e *measure.Env) string { return e.Firmware }},
	{"cpu", func(e *measure.Env) string { return e.CPUModel }},
	{"cpus", func(e *measure.Env) string {
		if e.CPUs == 0 {
			return ""
		}
		return strconv.Itoa(e.CPUs)
	}},
	{"governor", func(e *measure.Env) string { return e.Governor }},
	{"mitigations", func(e *measure.Env) string { return e.Mitigations }},
	{"congestion", func(e *measure.Env) string { return e.Congestion }},
}

// mayTell reports whether a fact's name is listed.
func mayTell(name string) bool {
	return slices.ContainsFunc(inRecords, func(x recorded) bool { return x.name == name }) ||
		slices.ContainsFunc(facts, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// hostFacts lists what may be told of the host that had a role: as it was found, before zcbench
// set anything there.
func hostFacts(recs []results.Record, role ends.Role, beside *environment.Folder) []Fact {
	out := []Fact{}
	names := namesOf(recs)
	add := func(name, value string) {
		if value = plain(value); name == "kernel" {
			value = release(value)
		}
		if value != "" && len(out) < maxFacts && mayTell(name) && fits(name, value) &&
			!names.in(name, value) {
			out = append(out, Fact{name, value})
		}
	}
	for _, x := range inRecords {
		for i := range recs {
			if v := x.of(&recs[i].Host(role).Env); v != "" {
				add(x.name, v)
				break
			}
		}
	}
	if s := snapshotOf(recs, role, beside); s != nil {
		for _, f := range s.Facts {
			add(f.Name, f.Value)
		}
	}
	slices.SortFunc(out, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Fact) bool { return a.Name == b.Name })
}

// snapshotOf finds what a host was like when the first session began; nil: nobody knows.
func snapshotOf(recs []results.Record, role ends.Role, beside *environment.Folder) *survey.Snapshot {
	if beside == nil {
		return nil
	}
	for i := range recs {
		hash := recs[i].Host(role).Env.Environment
		if hash == "" {
			continue
		}
		if found, err := beside.Find(hash); err == nil {
			return found.Base
		}
	}
	return nil
}

// ownNames are what the journal calls its hosts.
type ownNames []string

// common are words that many hosts are called by, and that say nothing of one: those of the forms
// of a HOST, of systems, processors and drivers.
var common = set("local", "localhost", "made", "host", "linux", "debian", "ubuntu", "fedora", "netns", "sudo", "exec",
	"srun", "root", "intel", "xeon", "core", "epyc", "ryzen", "processor", "ampere", "altra", "neoverse", "grace",
	"graviton", "cortex", "gold", "platinum", "silver", "bronze", "mlx4", "veth", "virtio")

// ofDriver reports whether a name is a known driver's, or the part of it before "_".
func ofDriver(n string) bool {
	return slices.ContainsFunc(driver.All, func(d *driver.Driver) bool {
		stem, _, _ := strings.Cut(d.Name, "_")
		return n == d.Name || n == stem
	})
}

// namesOf lists the names whole and by their parts: of ssh:alice@rack7-x.example.com also alice,
// rack7, example.
func namesOf(recs []results.Record) (out ownNames) {
	seen := map[string]bool{}
	add := func(n string) {
		if len(n) > 3 && !seen[n] && !common[n] && !ofDriver(n) && strings.Trim(n, "0123456789") != "" {
			seen[n] = true
			out = append(out, n)
		}
	}
	for i := range recs {
		for _, h := range []*results.Host{&recs[i].SUT, &recs[i].TG} {
			for _, n := range []string{h.Name, h.Env.Hostname, h.Env.Dev, h.Env.Upper} {
				n = strings.ToLower(n)
				add(n)
				for _, part := range strings.FieldsFunc(n, func(r rune) bool { return r != '_' && !wordly(r) }) {
					add(part)
				}
			}
		}
	}
	return out
}

func wordly(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 }

// in reports whether a value has one of them, not within a word. A kernel's is of listed words, of
// which a host may have one.
func (names ownNames) in(name, text string) bool {
	if name == "kernel" {
		return false
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(names, func(n string) bool {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], n)
			if i < 0 {
				return false
			}
			at += i
			before, after := at == 0 || !wordly(rune(text[at-1])), at+len(n) == len(text) ||
				!wordly(rune(text[at+len(n)]))
			if before && after {
				return true
			}
		}
	})
}

// release is a kernel's, without what somebody may have put at its end: a name, a project, the
// commit of a tree. Kept is what distributions write there, up to the first word that none does.
func release(s string) string {
	version := released().FindString(s)
	rest := s[len(version):]
	if loc := ipv4().FindStringIndex(rest); loc != nil {
		rest = strings.TrimRight(rest[:loc[0]], "-.+~_")
	}
	kept := len(rest)
	for at := 0; at < len(rest); {
		m := tail().FindString(rest[at:])
		if m == "" {
			kept = at
			break
		}
		at += len(m)
	}
	if version == "" {
		return ""
	}
	return version + rest[:kept]
}

var (
	released = lazy.Regexp(`^\d{1,3}\.\d{1,3}(\.\d{1,3})?(-rc\d{1,2})?\b`)
	tail     = lazy.Regexp(
		`^([-.+~_](\d{1,6}|generic|lowlatency|64k|realtime|rt\d{0,3}|preempt|default|lts|amd64|arm64|` +
			`x86_64|aarch64|i686|riscv64|ppc64le|s390x|cloud|azure|aws|gcp|gke|gkeop|oracle|ibm|kvm|nvidia|raspi|hwe|` +
			`el\d{1,2}(_\d{1,2}|uek)?|uek|fc\d{1,2}|amzn\d{1,4}|deb\d{1,2}(u\d{1,2})?|bpo\d{0,2}|pve|arch\d{1,2}|` +
			`zen\d{0,2}|` +
			`hardened|cachyos|next|debug)\b|\+$)`)
)

// listed are the values of facts that name a module, which somebody may have written.
var listed = map[string]map[string]bool{"congestion": controls, "sysctl/net.ipv4.tcp_congestion_control": controls,
	"sysctl/net.core.default_qdisc": set("fq", "fq_codel", "fq_pie", "pfifo_fast", "pfifo", "bfifo", "sfq", "codel",
		"pie",
		"cake", "mq", "noqueue")}

var controls = set("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno",
	"scalable", "vegas", "veno", "westwood", "yeah")

// Forms of values. personal is what tells whose a host is: addresses of hardware and of IP, UUIDs,
// paths, addresses of mail.
var (
	form     = lazy.Regexp(`^[A-Za-z0-9 .,;:+_()/@%=<>*'\[\]#~&?-]+$`)
	personal = lazy.Regexp(`(?i)\b[0-9a-f]{2}([:-][0-9a-f]{2}){5,}\b|` + // of hardware
		`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|` + // a UUID
		`\b[0-9a-f]{1,4}:[0-9a-f]{0,4}:[0-9a-f:]*|::[0-9a-f]|` + // IPv6
		`(^|[\s=:'(])[~.]?/[\w.]|\w@\w`) // a path; somebody at a host
	ipv4 = lazy.Regexp(`(^|\D)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
)

// fits reports whether a value has the form of one, and nothing in it that tells whose it is.
// Versions of firmware may look as an address does, but not as a private one: bnxt's is
// 229.0.154.0/pkg.
func fits(name, value string) bool {
	if len(value) > maxText || !form().MatchString(value) || personal().MatchString(value) {
		return false
	}
	switch name {
	case "kernel":
		return release(value) == value
	case "driver", "tool":
		return word().MatchString(value) && !ipv4().MatchString(value)
	case "firmware":
		return !private().MatchString(value)
	}
	return !ipv4().MatchString(value) && (listed[name] == nil || listed[name][value])
}

var (
	private = lazy.Regexp(`(^|[^\d.])(10|127|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)(\.\d{1,3}){2,3}\b`)
	word    = lazy.Regexp(`^[A-Za-z0-9._+~-]+$`)
)

// plain is a text in one line, of signs that files may have.
func plain(s string) string {
	return notInForm().ReplaceAllString(strings.Join(strings.Fields(s), " "), "?")
}

var notInForm = lazy.Regexp(`[^A-Za-z0-9 .,;:+_()/@%=<>*'\[\]#~&?-]`)

func knownLimit(l plan.LimitedBy) bool { return slices.Contains(plan.LimitedBys, l) }
