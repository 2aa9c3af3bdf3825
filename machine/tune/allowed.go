// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/setting"
)

// What zcbench sets of a host is a list. Names and values come from experiment
// files, from other hosts' controllers and from journals on disk, all of which
// somebody else may have written, and root sets them: a sysctl outside the list may
// name a program that the kernel runs (kernel.core_pattern, kernel.modprobe).

// What a file that nobody has vouched for may set is less, see [ForMeasuring].

// never are the exceptions from net.*, as patterns of their files.
var never = []struct{ file, why string }{
	{"net/core/bpf_jit_*", "protects the kernel from its users"},
	{"net/ipv4/ip_unprivileged_port_start", "lets other users use service ports"},
	{"net/ipv[46]/conf/*/accept_redirects", "lets others on the network change routes"},
	{"net/ipv[46]/conf/*/accept_source_route", "lets others on the network choose routes"},
	{"net/ipv4/conf/*/route_localnet", "exposes the loopback network"},
	{"net/ipv4/tcp_fastopen_key", "is a secret that would end up in a journal"},
	{"net/ipv6/conf/*/stable_secret", "is a secret that would end up in a journal"},
	{"net/netfilter/nf_log/*", "names a kernel module"},
	{"net/netfilter/nf_log_all_netns", "affects other namespaces"},
	{"net/netfilter/nf_hooks_lwtunnel", "cannot be restored"},
	{"net/ipv4/ip_forward", "changes other settings, which would not be restored"},
	{"net/ipv[46]/conf/*/forwarding", "changes other settings, which would not be restored"},
	{"net/ipv6/conf/*/disable_ipv6", "removes addresses, which would not be restored"},
	{"net/ipv6/conf/*/addr_gen_mode", "changes addresses, which would not be restored"},
	{"net/ipv[46]/route/flush", "is an action, not a setting"},
}

// beyondNet lists the few that may be set and are not of net.*: numbers that decide which memory a
// process gets, how often the CPUs are bothered for it, and whether programs of BPF are timed.
func beyondNet() (names []string) {
	for _, x := range measuring {
		if !strings.HasPrefix(x.name, "net.") {
			names = append(names, x.name)
		}
	}
	return names
}

// sysctlRule words which sysctls may be set.
func sysctlRule() string {
	return "net.* except what protects, leaks or cannot be restored, and " + strings.Join(beyondNet(), ", ")
}

// Refused is a sysctl that zcbench does not set, whoever asks.
type Refused struct{ Name, Why string }

func (e *Refused) Error() string {
	return fmt.Sprintf("zcbench does not set sysctl %q: it %s", e.Name, e.Why)
}

// Fix advises what the user can do about it.
func (e *Refused) Fix() string {
	return "leave it out, or set it by hand; zcbench sets " + sysctlRule()
}

// sysctlName is a name as of sysctl(8): a slash stands for a dot in the name of an
// interface, as in net.ipv4.conf.eth0/100.rp_filter.
var sysctlName = lazy.Regexp(`^[a-z0-9_]+(\.[A-Za-z0-9_@+:/-]+)+$`)

const maxSysctlName = 128

// sysctlFile derives the file of a sysctl under /proc/sys.
func sysctlFile(name string) (string, error) {
	file := strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, name)
	hidden := slices.ContainsFunc(strings.Split(file, "/"), func(s string) bool { return strings.HasPrefix(s, ".") })
	if len(name) > maxSysctlName || hidden || !sysctlName().MatchString(name) {
		return "", fmt.Errorf("sysctl %.*q is not a name such as net.core.rmem_max", maxSysctlName, name)
	}
	return file, nil
}

// CheckSysctl refuses a sysctl that is not on the list: a *[Refused], or another
// error where it is no name at all.
func CheckSysctl(name string) error {
	file, err := sysctlFile(name)
	if err != nil {
		return err
	}
	if slices.Contains(beyondNet(), name) {
		return nil
	}
	if !strings.HasPrefix(file, "net/") {
		return &Refused{name, "is not on the list"}
	}
	for _, x := range never {
		if ok, _ := path.Match(x.file, file); ok {
			return &Refused{name, x.why}
		}
	}
	return nil
}

// What a value may look like: numbers, words, lists and masks. No sysctl of the list
// needs more, and none of the rest could be given a path or a command line.
var (
	sysctlValue  = lazy.Regexp(`^[A-Za-z0-9 ,._:+-]*$`)
	governorName = lazy.Regexp(`^[a-z0-9_-]{1,15}$`) // CPUFREQ_NAME_LEN is 16
)

const maxSysctlValue = 1024

// canonicalWords makes the value of a sysctl as the kernel's are read: its words, one
// space between them.
func canonicalWords(v string) (string, error) {
	v = strings.ReplaceAll(v, "\t", " ")
	if len(v) > maxSysctlValue {
		return "", fmt.Errorf("a value of %d bytes, more than %d", len(v), maxSysctlValue)
	}
	if !sysctlValue().MatchString(v) {
		return "", fmt.Errorf(
			"%q is not a value such as 4096 or cubic: want letters, digits, blanks and ,._:+- on one line", v)
	}
	return strings.Join(strings.Fields(v), " "), nil
}

func canonicalGovernor(v string) (string, error) {
	if !governorName().MatchString(v) {
		return "", fmt.Errorf("%.40q is not a governor's name, such as performance", v)
	}
	return v, nil
}

func canonicalBalance(v string) (string, error) {
	if !slices.Contains([]string{Running, Stopped, None}, v) {
		return "", fmt.Errorf("%.40q is not %s or %s", v, Running, Stopped)
	}
	return v, nil
}

// CheckSetting refuses a setting that is none of a host's or not on the list, and a
// value that no host could have, without looking at the host.
func CheckSetting(name, value string) error {
	s, err := FS{}.Setting(name)
	if err == nil {
		_, err = s.Canonical(value)
	}
	return err
}

// guarded makes a setting that sets nothing but what its Canon would make.
func guarded(s setting.Setting) setting.Setting {
	set := s.Set
	s.Set = func(v string) error {
		v, err := s.Canonical(v)
		if err != nil {
			return err
		}
		return set(v)
	}
	return s
}

// sysctlSetting makes a setting of a sysctl of the list. It refuses one that holds what could not
// be put back: the kernel may have more values than the rules for them know.
func (fs FS) sysctlSetting(name string) (setting.Setting, error) {
	if err := CheckSysctl(name); err != nil {
		return setting.Setting{}, err
	}
	s := setting.Setting{Name: "sysctl " + name, Canon: canonicalWords,
		Set: func(v string) error { return fs.SetSysctl(name, v) }}
	s.Get = func() (string, error) {
		v, err := fs.Sysctl(name)
		if err == nil {
			_, err = s.Canonical(v)
		}
		return v, err
	}
	if name == hugePages || name == overPages {
		s.Complete = func(text, found string) (string, error) { return text, fs.room(name, text, found) }
	}
	return s, nil
}

// cpuNumber reads the number of a CPU as it is in the name of a setting.
func cpuNumber(arg string) (int, error) {
	cpu, err := strconv.Atoi(arg)
	if err != nil || cpu < 0 || strconv.Itoa(cpu) != arg {
		return 0, fmt.Errorf("governor %.20q: want the number of a CPU", arg)
	}
	return cpu, nil
}
