// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/netns"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/counter"
)

// procRoot is where /proc is; tests put a fixture there.
var procRoot = "/proc"

// IRQAffinity reads which CPUs may take interrupt irq, as a CPU list such as
// 0-3,8 (/proc/irq/N/smp_affinity_list, kernel/irq/proc.c).
func IRQAffinity(irq int) (string, error) {
	path := irqPath(irq)
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return "", failed(remedy.FileIRQ, "read "+path, err, remedy.On{Path: path})
	}
	return strings.TrimSpace(string(b)), nil
}

// setIRQAffinity sets them. The kernel refuses with EIO where it or the driver
// manages the interrupt.
func setIRQAffinity(irq int, cpus string) error {
	return writeFile(remedy.FileIRQ, irqPath(irq), cpus, "")
}

// canonicalCPUs writes a CPU list as the kernel prints it: ascending, in ranges.
func canonicalCPUs(v string) (string, error) {
	cpus, err := counter.ParseCPUList(v)
	if err == nil && len(cpus) == 0 {
		err = fmt.Errorf("CPU list %q is empty: want one such as 0-3,8", v)
	}
	return counter.FormatCPUList(cpus), err
}

func irqPath(irq int) string {
	return filepath.Join(procRoot, "irq", strconv.Itoa(irq), "smp_affinity_list")
}

// queueFile returns the path of a file of one queue below /sys/class/net: "rx-3/rps_cpus".
func (d *Device) queueFile(name string) (string, error) {
	root, err := d.sysRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "class/net", d.Name, "queues", name), nil
}

// SysFile reads a file of the interface below /sys/class/net, without surrounding
// space.
func (d *Device) SysFile(name string) (string, error) {
	text, err := recordedFile(name, func() (string, error) {
		root, err := d.sysRoot()
		if err != nil {
			return "", err
		}
		b, err := os.ReadFile(filepath.Join(root, "class/net", d.Name, name))
		return strings.TrimSpace(string(b)), err
	})
	if e := (*fault.Error)(nil); err != nil && !errors.As(err, &e) {
		err = failed(remedy.FileSys, "read "+name+" of "+d.Name, err,
			remedy.On{Dev: d.Name, Path: "/sys/class/net/" + d.Name + "/" + name})
	}
	return text, err
}

// sysRoot returns the path of a sysfs that shows the interfaces of the device's namespace. A thread
// that entered the namespace still has the /sys of the one it came from, so it mounts one, attached
// nowhere, that lives as long as the device is open.
func (d *Device) sysRoot() (string, error) {
	if d.sysfs == nil {
		fd, err := sysfsOf(d.netns)
		if err != nil {
			return "", d.failed(remedy.SysfsMount, "mount the sysfs of the namespace of "+d.Name, err)
		}
		d.sysfs = os.NewFile(uintptr(fd), "sysfs")
	}
	return fmt.Sprintf("/proc/self/fd/%d", d.sysfs.Fd()), nil
}

// fsopen is the kernel's; tests have it refused.
var fsopen = unix.Fsopen

func sysfsOf(ns *os.File) (fd int, err error) {
	err = netns.Do(ns, func() error {
		fs, err := fsopen("sysfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fs)
		if err := unix.FsconfigCreate(fs); err != nil {
			return err
		}
		fd, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// readQueueFile and writeQueueFile are for XPS and RPS: CPU masks in hexadecimal
// (net/core/net-sysfs.c).
func (d *Device) readQueueFile(name string) (string, error) {
	path, err := d.queueFile(name)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", failed(remedy.FileQueue, "read "+name+" of "+d.Name, err, remedy.On{Dev: d.Name, Path: path})
	}
	return canonicalMask(strings.TrimSpace(string(b)))
}

func (d *Device) writeQueueFile(name, value string) error {
	path, err := d.queueFile(name)
	if err != nil {
		return err
	}
	return writeFile(remedy.FileQueue, path, value, d.Name)
}

// SteerByRPS makes RPS send the packets of an interface's first queue to CPUs. It is for an
// interface that goes with its network namespace, such as a veth of the caller's: what is to be
// restored is set by a lease.
func SteerByRPS(dev string, cpus ...int) error {
	d, err := Open(dev)
	if err != nil {
		return err
	}
	defer d.Close()
	rps, err := d.Setting("rps 0")
	if err != nil {
		return err
	}
	return rps.Set(CPUMask(cpus...))
}

// CPUMask formats CPUs as the mask of RPS and XPS.
func CPUMask(cpus ...int) string {
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, cpu := range cpus {
		words[cpu/32] |= 1 << (cpu % 32)
	}
	slices.Reverse(words)
	out := fmt.Sprintf("%x", words[0])
	for _, w := range words[1:] {
		out += fmt.Sprintf(",%08x", w)
	}
	return out
}

// canonicalMask writes a CPU mask in hexadecimal, words of 32 bits with commas
// between them, without the zeros in front that the kernel fills up with to the
// number of CPUs it was built for (bitmap_print_to_pagebuf, lib/bitmap-str.c).
func canonicalMask(v string) (string, error) {
	out := ""
	for word := range strings.SplitSeq(v, ",") {
		n, err := strconv.ParseUint(word, 16, 32)
		switch {
		case err != nil || len(word) > 8:
			return "", fmt.Errorf(
				"CPU mask %q: want hexadecimal words of up to 8 digits separated by commas, such as 3 or 1,00000000", v)
		case out == "" || out == "0":
			out = fmt.Sprintf("%x", n)
		default:
			out += fmt.Sprintf(",%08x", n)
		}
	}
	return out, nil
}

func writeFile(call remedy.Call, path, value, dev string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return failed(call, "write "+value+" to "+path, err, remedy.On{Dev: dev, Path: path, Value: value})
	}
	return nil
}

// fileError wraps an error of another kernel file, which op names.
func fileError(op, path string, err error) error {
	return failed(remedy.File, op+" "+path, err, remedy.On{Path: path})
}
