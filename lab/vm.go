// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/zcbench/zcbench/lab/guest"
)

// vmConfig is one machine to boot.
type vmConfig struct {
	vmlinuz   string
	vmlinux   string // the same unpacked, for emulation; may be empty
	initramfs *os.File
	resume    *os.File // a pipe with the state to go on from; nil: boot
	monitored bool     // it can be asked to save its state
	kvm       bool
	counts    bool // the clocks count instructions
	waits     bool // ... and idle time passes: a disk is waited for
	tscKHz    int  // rate of the host's time-stamp counter; 0: not known
	cpus      int
	memMiB    int
	nic       *qemuNIC // in place of the soft NIC; nil: that
	queues    int      // pairs of queues that each of the two is wired with; 0: see hub
	qemu      *emulator
	card      string    // options of a NIC of ours
	log       io.Writer // for what goes wrong there
	extra     []string  // arguments for QEMU
}

// vm is a running machine. Its process ends when the context does, and with
// this process in any case.
type vm struct {
	ports   map[string]*os.File // the host's ends of the virtio-serial ports
	monitor *os.File            // the host's end of QEMU's monitor; nil: none
	card    *ownCard            // NICs of ours; nil: none
	console *tail               // what the kernel wrote to the serial console, and QEMU's own messages
	done    chan struct{}       // closed when the process has ended
	err     error               // how; valid after done
}

// startVM boots a machine.
func startVM(ctx context.Context, c vmConfig) (*vm, error) {
	if c.qemu == nil {
		if err := needTools("qemu-system-x86_64"); err != nil {
			return nil, err
		}
	}
	m := &vm{ports: map[string]*os.File{}, console: newTail(64 << 10), done: make(chan struct{})}
	args, theirs, err := m.channels(c.args(), c.monitored)
	if err == nil {
		args, theirs, err = c.wire(args, theirs)
	}
	if err == nil && c.nic.own() {
		if m.card, err = newOwnCard(c.card, c.log); err == nil {
			args = append(args, m.card.args(c.memMiB)...)
		}
	}
	closeTheirs := func() {
		for _, f := range theirs {
			f.Close()
		}
	}
	if err != nil {
		closeTheirs()
		m.closePorts()
		return nil, err
	}
	files := append(slices.Clip(theirs), c.initramfs)
	args = append(args, "-initrd", "/proc/self/fd/"+strconv.Itoa(3+len(theirs)))
	if c.resume != nil {
		args = append(args, "-incoming", "fd:"+strconv.Itoa(3+len(files)))
		files = append(files, c.resume)
	}
	args = append(c.qemu.command(), args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.ExtraFiles = files
	cmd.Stdout, cmd.Stderr = m.console, m.console
	// What is called qemu-system-x86_64 may be a script that starts it. Nothing that it has
	// started outlives it, nor holds us up with the console in its hands.
	cmd.WaitDelay = pipeGrace
	ended, err := startTied(cmd, closeTheirs, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	if err != nil {
		m.closeCard()
		m.closePorts()
		return nil, &Error{"start qemu-system-x86_64", err, ""}
	}
	go func() {
		m.err = <-ended
		m.closeCard()
		close(m.done)
	}()
	return m, nil
}

// args builds QEMU's arguments but for channels and initramfs.
//
// Under TCG the processor has no fast string copies (erms, fsrm): TCG executes rep movsb byte by
// byte, and a kernel that trusts it would make copying look far worse, and so zero copy far better,
// than it is. la57 costs a page table level for nothing.
//
// One thread runs all emulated processors. With a thread each, QEMU 7.2 now and then keeps
// executing the breakpoint that the kernel has already patched away when it switches a static key,
// as every bind and unbind of a memory provider does: "Oops: int3", once in a few runs of the lab's
// tests.
func (c *vmConfig) args() []string {
	accel, cpu := "tcg,thread=single", "max,-erms,-fsrm,-la57"
	if c.kvm {
		accel, cpu = "kvm", "host"
	}
	var clock []string
	switch {
	case c.counts && c.waits:
		// With idle time skipped, the time for a read from a disk leaps to the next timer's.
		clock = []string{"-icount", "shift=0,sleep=on"}
	case c.counts:
		clock = []string{"-icount", "shift=0,sleep=off"} // 2^0 ns each; idle time is skipped
	}
	kernel, firmware := c.kernel()
	var devices []string
	if c.nic != nil && !c.nic.own() {
		devices = c.nic.devices(c.queues)
		if c.queues == 0 {
			devices = append(devices, hub()...)
		}
	}
	return slices.Concat(clock, firmware, c.extra, devices, []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
		"-machine", "pc", "-accel", accel, "-cpu", cpu,
		"-smp", strconv.Itoa(c.cpus), "-m", strconv.Itoa(c.memMiB) + "M",
		"-kernel", kernel, "-append", c.cmdline(),
		"-serial", "stdio"})
}

// kernel chooses what to boot, with arguments for what boots it. Under emulation, unpacking takes
// seconds, and so does SeaBIOS with devices that no machine here boots from: an unpacked kernel is
// started by its PVH entry, by a firmware that does just that.
func (c *vmConfig) kernel() (path string, firmware []string) {
	if c.kvm || c.vmlinux == "" {
		return c.vmlinuz, nil
	}
	if rom := c.qemu.qboot(); rom != "" {
		firmware = []string{"-bios", rom}
	}
	return c.vmlinux, firmware
}

// qboot returns the path of QEMU's smallest firmware, or "".
func (e *emulator) qboot() string {
	for _, dir := range e.firmware() {
		path := filepath.Join(dir, "qboot.rom")
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// cmdline builds the kernel's command line.
//
// panic=-1 reboots at once, which -no-reboot turns into QEMU's end; an oops leaves locks held, so
// it panics too. What takes time at boot and has nothing to do with a network is off: tests of
// ciphers, audit, another place for the kernel every time. Pages are not cleared before they are
// handed out, which under emulation takes a second of each boot.
//
// An emulated machine is told what it would find out by holding one clock against another, which
// fails on a busy host (see hostTSC): the rate of the time-stamp counter, the loops of a delay, and
// that the timer's interrupt works.
func (c *vmConfig) cmdline() string {
	line := "console=ttyS0 quiet panic=-1 oops=panic mitigations=off rdinit=/init tsc=reliable" +
		" cryptomgr.notests audit=0 nokaslr init_on_alloc=0"
	kHz := c.tscKHz
	if c.counts {
		kHz = 1e6 // an instruction is a nanosecond
	}
	if c.kvm || kHz == 0 {
		return line
	}
	return fmt.Sprintf("%s no_timer_check tsc_early_khz=%d lpj=%d", line, kHz, kHz*1000/guestHZ)
}

// channels adds the virtio-serial ports and, if wanted, the monitor: for each a pair of
// connected sockets, one of which QEMU inherits.
func (m *vm) channels(args []string, monitored bool) (_ []string, theirs []*os.File, err error) {
	args = append(args, "-device", "virtio-serial-pci,max_ports=8")
	for i, name := range guest.Ports {
		ours, their, err := socketPair(name)
		if err != nil {
			return nil, theirs, err
		}
		m.ports[name] = ours
		id := "c" + strconv.Itoa(i)
		args = append(args,
			"-chardev", fmt.Sprintf("socket,id=%s,fd=%d", id, 3+len(theirs)),
			"-device", fmt.Sprintf("virtserialport,chardev=%s,nr=%d,name=%s", id, i+1, name))
		theirs = append(theirs, their)
	}
	if monitored {
		ours, their, err := socketPair("monitor")
		if err != nil {
			return nil, theirs, err
		}
		m.monitor = ours
		args = append(args, "-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", 3+len(theirs)), "-mon",
			"chardev=monitor,mode=control")
		theirs = append(theirs, their)
	}
	return args, theirs, nil
}

// socketPair connects two sockets. Our end is non-blocking, so that Close interrupts a Read.
func socketPair(name string) (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &Error{Op: "socketpair", Err: err}
	}
	syscall.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

func (m *vm) closeCard() {
	if m.card != nil {
		m.card.close()
	}
}

func (m *vm) closePorts() {
	for _, f := range m.ports {
		f.Close()
	}
	if m.monitor != nil {
		m.monitor.Close()
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	max int
	buf []byte
}

func newTail(max int) *tail { return &tail{max: max} }

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.max {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.max:]...)
	}
	return len(p), nil
}

// lines returns the last n lines.
func (t *tail) lines(n int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := bytes.Split(bytes.TrimSpace(bytes.ReplaceAll(t.buf, []byte("\r"), nil)), []byte("\n"))
	if len(l) > n {
		l = l[len(l)-n:]
	}
	return bytes.Join(l, []byte("\n"))
}
