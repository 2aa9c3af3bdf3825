// SPDX-License-Identifier: MIT

// Package symbol names the addresses of samples: those of the kernel by its own list, those of
// processes by the ELF files that they run.
package symbol

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/elfsym"
	"golang.org/x/sys/unix"
)

// Bounds of what is kept of the processes that samples met.
const (
	maxProcesses = 4 << 10
	maxFiles     = 512
	maxFunctions = 4 << 20 // of all files
)

// Namer names addresses. It is not for concurrent use.
type Namer struct {
	kernel    *kallsyms.Table
	processes map[int]*process
	files     map[file]*elfsym.Table // nil: it cannot be read
	functions int
}

// file is what /proc says of a file's identity.
type file struct {
	device string
	inode  uint64
}

type process struct {
	maps  []mapping
	comm  string
	ended bool // before anybody looked
}

// New reads the kernel's symbols. Where it hides them the error says what to set, and wraps
// [kallsyms.ErrHidden].
func New() (*Namer, error) {
	t, err := kallsyms.Read()
	if err != nil {
		return nil, hidden(err, func() ([]byte, error) { return kernelfile.ReadFile("/proc/sys/kernel/kptr_restrict") },
			privilege.Look())
	}
	return &Namer{kernel: t, processes: map[int]*process{}, files: map[file]*elfsym.Table{}}, nil
}

// hidden advises what to do about a kernel that shows no addresses: to none at all with
// kernel.kptr_restrict=2, else to who may see them (kernel/ksyms_common.c: kallsyms_show_value).
func hidden(err error, restrict func() ([]byte, error), s privilege.State) error {
	if !errors.Is(err, kallsyms.ErrHidden) {
		return err
	}
	may := s.Fix(privilege.Machine, unix.CAP_SYSLOG)
	is, how := "unknown", may+"; if that is so, sysctl -w kernel.kptr_restrict=1"
	if b, rerr := restrict(); rerr == nil {
		is = plaintext.Line(strings.TrimSpace(string(b)))
	}
	switch is {
	case "0", "1":
		how = may
	case "2":
		how = "sysctl -w kernel.kptr_restrict=1"
		if s.Lacks(privilege.Machine, unix.CAP_SYSLOG) != privilege.Granted {
			how += ", and " + may
		}
	}
	return &fault.Error{Op: "name the kernel's functions (kernel.kptr_restrict is " + is + ")", Err: kallsyms.ErrHidden,
		How: how}
}

// Look notes what a process has loaded, while it lives. One that nobody looked at is looked at
// when it is first asked for.
func (n *Namer) Look(pid int) {
	if n.processes[pid] != nil || len(n.processes) >= maxProcesses {
		return
	}
	p := &process{}
	n.processes[pid] = p
	f, err := kernelfile.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		p.ended = true
		return
	}
	defer f.Close()
	p.maps, _ = parseMaps(f) // what cannot be read has no names
	p.comm = commOf(fmt.Sprintf("/proc/%d/comm", pid))
}

func commOf(path string) string {
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return ""
	}
	return plaintext.Line(strings.TrimSuffix(string(b), "\n"))
}

// Comm returns a process's name; a thread of the kernel, which is a process of its own, is called
// as what it does.
func (n *Namer) Comm(pid int) string {
	if pid == 0 {
		return "swapper"
	}
	n.Look(pid)
	if p := n.processes[pid]; p != nil && p.comm != "" {
		return p.comm
	}
	return "pid " + strconv.Itoa(pid)
}

// Kernel names an address of the kernel; returns is that a call returns to it.
func (n *Namer) Kernel(addr uint64, returns bool) profile.Frame {
	find := n.kernel.Find
	if returns {
		find = n.kernel.Return
	}
	s, _, ok := find(addr)
	if !ok {
		return profile.Frame{Name: "[unknown]", Kernel: true}
	}
	return profile.Frame{Name: s.Name, Module: s.Module, Kernel: true}
}

// User names an address of a process.
func (n *Namer) User(pid int, addr uint64, returns bool) profile.Frame {
	n.Look(pid)
	if returns && addr > 0 {
		addr--
	}
	p := n.processes[pid]
	if p == nil || p.ended {
		return profile.Frame{Name: "[ended]"}
	}
	m, ok := find(p.maps, addr)
	if !ok {
		return profile.Frame{Name: "[unknown]"}
	}
	f := profile.Frame{Name: "[unknown]", Module: plaintext.Line(path.Base(m.path))}
	switch {
	case m.path == "":
		f.Name, f.Module = "[anonymous]", ""
		return f
	case m.inode == 0:
		f.Name, f.Module = plaintext.Line(m.path), ""
		return f
	}
	f.Name = "[" + f.Module + "]" // the file at least
	t := n.table(pid, m)
	if t == nil {
		return f
	}
	if at, ok := t.Addr(addr - m.from + m.offset); ok {
		if name, ok := t.Find(at); ok {
			f.Name = plaintext.Line(name)
		}
	}
	return f
}

// table reads the functions of the file behind a mapping; nil: they cannot be read.
func (n *Namer) table(pid int, m mapping) *elfsym.Table {
	key := file{m.device, m.inode}
	if t, ok := n.files[key]; ok {
		return t
	}
	if len(n.files) >= maxFiles || n.functions >= maxFunctions {
		return nil
	}
	t, err := readFile(pid, m)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil // the process has ended: another one may have the file still
	}
	if err != nil {
		t = nil
	} else {
		n.functions += t.Len()
	}
	n.files[key] = t
	return t
}

// readFile reads the very file that is mapped, whatever lies at its path by now (map_files of
// proc(5); it takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). A device can be mapped to be
// executed too, and opening one may act or wait: it is looked at before it is opened. So may a
// file whose file system is a program of the user's.
func readFile(pid int, m mapping) (*elfsym.Table, error) {
	p, err := unix.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.from, m.to), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(p)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(p, &st), unix.Fstatfs(p, &fs)); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || fs.Type == unix.FUSE_SUPER_MAGIC {
		return nil, fmt.Errorf("%s is not a file of the kernel's own file systems", m.path)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", p), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return elfsym.Read(f, st.Size)
}
