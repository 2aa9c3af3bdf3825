// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/netns"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
)

// profile is a named set of sysctls.
type profile struct {
	Name    string
	Sysctls [][2]string // name and value, in order
}

// Reference are the sysctls of the experiment that this suite reproduces: socket
// buffers of half a gigabyte. It also asks for 16384 huge pages, which are 32 GiB
// and therefore a choice of their own.
var Reference = profile{"reference", [][2]string{
	{"net.core.rmem_max", "536870912"},
	{"net.core.wmem_max", "536870912"},
	{"net.core.rmem_default", "16777216"},
	{"net.core.wmem_default", "16777216"},
	{"net.ipv4.tcp_rmem", "4096 87380 536870912"},
	{"net.ipv4.tcp_wmem", "4096 87380 536870912"},
	{"net.core.optmem_max", "4194304"},
	{"vm.max_map_count", "524240"},
}}

// Profiles are all, by name.
var Profiles = map[string]profile{Reference.Name: Reference}

// OfNetns reports whether a sysctl belongs to a network namespace; the others
// belong to the machine. net.core's socket buffers do, although every namespace
// shows them (net/core/sysctl_net_core.c).
func OfNetns(name string) bool {
	switch name {
	case "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default":
		return false
	}
	return strings.HasPrefix(name, "net.")
}

// Sysctl reads a sysctl of the calling thread's network namespace, or of the
// machine. Its words have one space between them.
func (fs FS) Sysctl(name string) (string, error) {
	file, err := sysctlFile(name)
	if err != nil {
		return "", err
	}
	var b []byte
	err = fs.whereItIs(name, func() (err error) {
		b, err = kernelfile.ReadFile(fs.proc("sys", file))
		return err
	})
	if err != nil {
		return "", failed(sysctlCall(name), "read sysctl "+name, fs.proc("sys", file), "", err)
	}
	return strings.Join(strings.Fields(string(b)), " "), nil
}

// SetSysctl writes one that is on the list, see [CheckSysctl].
func (fs FS) SetSysctl(name, value string) error {
	if err := CheckSysctl(name); err != nil {
		return err
	}
	file, err := sysctlFile(name)
	if err != nil {
		return err
	}
	if value, err = canonicalWords(value); err != nil {
		return &setting.Invalid{Name: "sysctl " + name, Err: err}
	}
	// The end of the line makes an empty value one, too.
	err = fs.whereItIs(name, func() error { return os.WriteFile(fs.proc("sys", file), []byte(value+"\n"), 0) })
	if err != nil {
		return failed(sysctlCall(name), "set sysctl "+name+" to "+value, fs.proc("sys", file), value, err)
	}
	return nil
}

// MaySetSysctl reports whether this process may write a sysctl, as far as its file says.
func MaySetSysctl(name string) bool {
	file, err := sysctlFile(name)
	return err == nil && unix.Faccessat(unix.AT_FDCWD, FS{}.proc("sys", file), unix.W_OK, unix.AT_EACCESS) == nil
}

// sysctlCall: those of net.* belong to who has CAP_NET_ADMIN over the network namespace.
func sysctlCall(name string) remedy.Call {
	if strings.HasPrefix(name, "net.") {
		return remedy.FileNetctl
	}
	return remedy.FileSysctl
}

// whereItIs does f in the calling thread's network namespace, or, for a sysctl of
// net.core that only the machine's first namespace has, or lets be written, there.
func (fs FS) whereItIs(name string, f func() error) error {
	err := f()
	if err == nil || fs.Proc != "" || !strings.HasPrefix(name, "net.core.") {
		return err
	}
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return err
	}
	// Process 1 is in it, but in a container it is another's, whose namespace may
	// not be looked at: then it is one of those that other processes are in.
	seen := map[uint64]bool{}
	there := func(process string) bool {
		var st unix.Stat_t
		path := process + "/ns/net"
		if unix.Stat(path, &st) != nil || seen[st.Ino] {
			return false
		}
		seen[st.Ino] = true
		return InNetns(path, f) == nil
	}
	if there("/proc/1") || slices.ContainsFunc(fs.processes(), there) {
		return nil
	}
	return err
}

// InNetns does f on a thread of its own in the namespace at path.
func InNetns(path string, f func() error) error {
	ns, err := os.Open(path)
	if err != nil {
		return err
	}
	defer ns.Close()
	return netns.Do(ns, f)
}
