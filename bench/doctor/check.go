// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"golang.org/x/sys/unix"
)

// CheckSSH is the name of an agent's check whether an interface is the one that ssh needs.
const CheckSSH = "ssh's interface"

// Checks looks at what the modes depend on, beside the modes themselves.
func Checks() []wire.Check {
	system, measures := publicChecks()
	return slices.Concat(system, []wire.Check{fs{}.cgroups(), leases(), copying()}, measures, powerChecks())
}

// publicChecks runs the checks that do not reveal whose host it is, so that a record may have them:
// of the system, and of what measures.
func publicChecks() (system, measures []wire.Check) {
	out := []wire.Check{kernel(), kernelFiles(), capabilities(), probing(privilege.Look()), memlock(),
		memory(remedy.MemoryShort)}
	for _, s := range []struct {
		name string
		want int64
		why  string
	}{
		{"net.core.rmem_max", 64 << 20, "larger --rcvbuf than this needs root"},
		{"net.core.wmem_max", 64 << 20, "larger --sndbuf than this needs root"},
		{"net.core.optmem_max", 1 << 20, "MSG_ZEROCOPY notifications are charged to it"},
	} {
		out = append(out, sysctl(s.name, s.want, s.why))
	}
	out = append(out, tcpMem("tcp_rmem"), tcpMem("tcp_wmem"))
	out = append(out, fs{}.checks()...)
	return out, slices.Concat(uringChecks(), kernelChecks(), encryptionChecks(), pmuChecks(), idleChecks(counter.FS{}))
}

func kernel() wire.Check {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return wire.Check{Name: "kernel", Status: "warn", Found: "uname: " + err.Error()}
	}
	return wire.Check{Name: "kernel", Status: "ok", Found: unix.ByteSliceToString(u.Release[:]) + " " +
		unix.ByteSliceToString(u.Machine[:])}
}

const needsAdmin = "CAP_NET_ADMIN for queues, buffers and namespaces"

func capabilities() wire.Check { return capabilitiesOf(privilege.Look()) }

// capabilitiesOf predicts what a call that wants CAP_NET_ADMIN will say where it is refused: over
// the machine, which zcrx, --busy-poll and buffers beyond the limit want, or over the network
// namespace, which settings of its interfaces want.
func capabilitiesOf(s privilege.State) wire.Check {
	const admin = privilege.Cap(unix.CAP_NET_ADMIN)
	c := wire.Check{Name: "capabilities", Needed: needsAdmin, Status: "ok", Found: "CAP_NET_ADMIN"}
	if why := s.Lacks(privilege.Machine, admin); why != privilege.Granted {
		c.Status, c.Found, c.Fix = "warn", why.Cause(admin), why.Do(admin)
		if s.Lacks(privilege.Net, admin) == privilege.Granted {
			c.Found += ": only over this network namespace"
		}
		if why == privilege.NotRoot {
			c.Found += fmt.Sprintf(" (uid %d)", s.UID)
			c.Fix += ", or: setcap cap_net_admin,cap_sys_admin,cap_ipc_lock+ep on the binary"
		}
	}
	if s.Seccomp {
		c.Found += "; a seccomp filter is in force"
	}
	return c
}

// probing checks whether eBPF programs and samples of whole CPUs are permitted.
func probing(s privilege.State) wire.Check {
	caps := []privilege.Cap{unix.CAP_BPF, unix.CAP_PERFMON}
	c := wire.Check{Name: "capabilities for probes",
		Needed: "CAP_BPF and CAP_PERFMON for probes, profiles and XDP modes", Status: "ok",
		Found: "CAP_BPF and CAP_PERFMON"}
	if why := s.Lacks(privilege.Machine, caps...); why != privilege.Granted {
		c.Status, c.Found, c.Fix = "warn", why.Cause(caps...), why.Do(caps...)
	}
	return c
}

func memlock() wire.Check {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
		return wire.Check{Name: "memlock limit", Status: "warn", Found: "getrlimit: " + err.Error(),
			Needed: "unlimited"}
	}
	return memlockOf(l.Cur, privilege.Look())
}

// memlockOf judges a limit in bytes. Who has CAP_IPC_LOCK over the machine is exempt, root or not
// (io_uring/io_uring.c: io_uring_create; mm/mlock.c).
func memlockOf(limit uint64, s privilege.State) wire.Check {
	c := wire.Check{Name: "memlock limit",
		Needed: "unlimited, or CAP_IPC_LOCK, for registered buffers and pinned pages", Status: "ok"}
	if limit == unix.RLIM_INFINITY {
		c.Found = "unlimited"
		return c
	}
	c.Found = fmt.Sprintf("%d KiB", limit/1024)
	switch why := s.Lacks(privilege.Machine, unix.CAP_IPC_LOCK); why {
	case privilege.Granted:
		c.Found += ", but CAP_IPC_LOCK lifts it"
	case privilege.OfUsers:
		c.Status, c.Found, c.Fix = "warn", c.Found+", and CAP_IPC_LOCK only in a user namespace",
			"raise the limit outside (ulimit -l unlimited; limits.conf: memlock), or run on the host"
	case privilege.Unknown:
		c.Status, c.Found, c.Fix = "warn", c.Found+"; /proc does not tell whether CAP_IPC_LOCK lifts it", "mount /proc"
	default:
		c.Status, c.Found, c.Fix = "warn", c.Found+", without CAP_IPC_LOCK",
			"ulimit -l unlimited (limits.conf: memlock), or "+why.Do(unix.CAP_IPC_LOCK)
	}
	return c
}

// memory asks for what a run of zero-copy receive takes by default, twice: area, rings, payload.
func memory(short func(bytes int64) string) wire.Check {
	const want = 128 << 20
	c := wire.Check{Name: "memory", Needed: "128 MiB for rings and buffers", Status: "ok", Found: "enough"}
	if why := short(want); why != "" {
		c.Status, c.Found = "warn", why
		c.Fix = "give the container or service more memory (--memory, MemoryMax=), end what uses it, or smaller " +
			"--area-size and --cq-entries"
	}
	return c
}

// ringMemory makes a ring as long as zero-copy receive has it by default: a machine whose memory is
// in small pieces, or a low limit, refuses it where small rings work.
func ringMemory(open func(uring.Options) (*uring.Ring, error)) wire.Check {
	const entries = stream.DefaultZCCQEntries
	c := wire.Check{Name: "io_uring memory", Needed: fmt.Sprintf("a completion queue of %d entries", entries),
		Status: "ok", Found: "works"}
	r, err := open(uring.Options{SQEntries: 8, CQEntries: entries, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	if err != nil {
		c.Status, c.Found, c.Fix = "warn", err.Error(), fault.Fix(err)
		return c
	}
	if err := r.Close(); err != nil {
		c.Status, c.Found = "warn", err.Error()
	}
	return c
}

func sysctl(name string, want int64, why string) wire.Check {
	c := wire.Check{Name: name, Needed: fmt.Sprintf("at least %d: %s", want, why), Status: "ok"}
	v, err := readSysctl(name)
	if err != nil {
		c.Status, c.Found = "warn", err.Error()
		return c
	}
	c.Found = v
	if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < want {
		c.Status, c.Command = "warn", fmt.Sprintf("sysctl -w %s=%d", name, want)
		c.Fix = c.Command
	}
	return c
}

// tcpMem looks at the upper end of TCP's buffer auto-tuning.
func tcpMem(name string) wire.Check {
	const want = 32 << 20
	full := "net.ipv4." + name
	c := wire.Check{Name: full, Needed: "the third figure limits the window: want 2 x bandwidth x round trip",
		Status: "ok"}
	v, err := readSysctl(full)
	if err != nil {
		c.Status, c.Found = "warn", err.Error()
		return c
	}
	c.Found = v
	f := strings.Fields(v)
	if n, err := strconv.ParseInt(f[len(f)-1], 10, 64); err != nil || n < want {
		c.Status, c.Command = "warn", fmt.Sprintf("sysctl -w %s='4096 131072 536870912'", full)
		c.Fix = c.Command
	}
	return c
}

func readSysctl(name string) (string, error) {
	b, err := kernelfile.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return "", err
	}
	v := strings.Join(strings.Fields(string(b)), " ")
	if v == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	return v, nil
}

// leases looks for what killed runs left.
func leases() wire.Check {
	reports, err := lease.Finish(lease.FinishOptions{DryRun: true, All: true})
	if err != nil {
		return wire.Check{Name: "leases", Needed: noLeases, Status: "warn", Found: err.Error()}
	}
	return leasesOf(reports)
}

const noLeases = "nothing left behind by killed runs"

// leasesOf warns of what there is to restore: not of what a run that goes on will restore itself.
func leasesOf(reports []lease.Report) wire.Check {
	c := wire.Check{Name: "leases", Needed: noLeases, Status: "ok", Found: "none left"}
	alive, found := 0, []string(nil)
	for _, r := range reports {
		switch {
		case r.State == lease.Alive:
			alive++
		case left([]lease.Report{r}) > 0:
			found = append(found, r.Lines()...)
		}
	}
	if alive > 0 {
		c.Found += fmt.Sprintf("; leases of running processes, which will restore them: %d", alive)
	}
	if found != nil {
		c.Status, c.Found, c.Command = "warn", strings.Join(found, "; "), "zcbench restore"
		c.Fix = c.Command
	}
	return c
}

// uringChecks attempts each of io_uring's features now.
func uringChecks() []wire.Check {
	var names []string
	for _, e := range uring.Engines() {
		names = append(names, string(e))
	}
	f, out := uring.Probe(), []wire.Check{{Name: "io_uring engines", Status: "ok", Found: strings.Join(names, ", ")}}
	for _, x := range f.List() {
		c := wire.Check{Name: x.Name, Needed: "Linux " + x.Kernel, Status: "ok", Found: "works"}
		if !x.Supported {
			c.Status, c.Found, c.Fix = "lacking", x.Reason, x.Fix
		}
		out = append(out, c)
	}
	if f.Ring.Supported {
		out = append(out, ringMemory(uring.NewBest))
	}
	return out
}
