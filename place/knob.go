package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/stream"
)

// knob is one file of the kernel that says where something runs.
type knob struct {
	name string // "irq 24", "rps 0": the interrupt, the RX queue
	path string
	how  map[unix.Errno]string // what to do about an error of writing it
}

// irqKnob is the CPUs that may take an interrupt (kernel/irq/proc.c).
func irqKnob(proc string, irq int) knob {
	return knob{fmt.Sprintf("irq %d", irq), filepath.Join(proc, "irq", fmt.Sprint(irq), "smp_affinity_list"), map[unix.Errno]string{
		unix.EIO:    "the kernel or the driver manages this interrupt itself: make fewer queues (ethtool -L), or take the layout as found",
		unix.EINVAL: "the CPU is not online",
		unix.EROFS:  "/proc is mounted read-only, as in a container: run on the host"}}
}

// rpsKnob is the CPUs that process what an RX queue receives, as a mask; none
// leaves it where the driver polls (net/core/net-sysfs.c).
func rpsKnob(sys, dev, queue string) knob {
	return knob{"rps " + strings.TrimPrefix(queue, "rx-"), filepath.Join(sys, "class/net", dev, "queues", queue, "rps_cpus"), map[unix.Errno]string{
		unix.EINVAL: "the CPU is kept apart (isolcpus, nohz_full): choose another one with --cpus",
		unix.ENOENT: "use a kernel with CONFIG_RPS"}}
}

func (k knob) get() (string, error) {
	b, err := os.ReadFile(k.path)
	return strings.TrimSpace(string(b)), k.explain("read", err)
}

// public is the path by which a user finds it.
func (k knob) public(dev string) string {
	if kind, n, _ := strings.Cut(k.name, " "); kind == "rps" {
		return "/sys/class/net/" + dev + "/queues/rx-" + n + "/rps_cpus"
	}
	return k.path
}

func (k knob) set(v string) error {
	return k.explain("set "+v+" to", os.WriteFile(k.path, []byte(v), 0))
}

func (k knob) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	var errno unix.Errno
	how := "run as root"
	if errors.As(err, &errno) && k.how[errno] != "" {
		how = k.how[errno]
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &stream.Error{Op: fmt.Sprintf("%s %s (%s)", op, k.name, k.path), Err: err, How: how}
}

// mask is one CPU as the kernel writes masks: words of 32 bits, the highest
// first.
func mask(cpu int) string {
	return fmt.Sprintf("%x", uint32(1)<<(cpu%32)) + strings.Repeat(",00000000", cpu/32)
}

// sameMask compares masks as written by us and by the kernel, which fills up
// with zeros.
func sameMask(a, b string) bool {
	trim := func(s string) string { return strings.TrimLeft(strings.ReplaceAll(s, ",", ""), "0") }
	return trim(a) == trim(b)
}

// mountSysfs mounts a sysfs, attached nowhere, that shows the interfaces of the
// calling thread's network namespace: /sys shows those of the namespace in which
// it was mounted (fsopen, 5.2).
func mountSysfs() (*os.File, error) {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsopen sysfs: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("mount a sysfs: fsconfig: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("mount a sysfs: fsmount: %w", err)
	}
	return os.NewFile(uintptr(fd), "sysfs"), nil
}

func fdPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
