// SPDX-License-Identifier: MIT

package nic

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// pktgenRoot is where the kernel's packet generator is, of the calling thread's network namespace
// (net/core/pktgen.c: PG_PROC_DIR). /proc/net is that of the process's first thread.
var pktgenRoot = "/proc/thread-self/net/pktgen"

// mostPktgen bounds what is read of one of its files: a line has the names of all devices.
const mostPktgen = 64 << 10

// PktgenFile returns the path of a file of the generator's that this program uses: pgctrl, a
// thread's, or a device's.
func PktgenFile(name string) string { return filepath.Join(pktgenRoot, name) }

func pktgenThread(cpu int) string { return "kpktgend_" + strconv.Itoa(cpu) }

// PktgenName returns what the generator calls a device by which the thread of a CPU sends.
func PktgenName(dev string, cpu int) string { return dev + "@" + strconv.Itoa(cpu) }

// ReadPktgen reads one of the files.
func ReadPktgen(name string) ([]byte, error) {
	f, err := kernelfile.Open(PktgenFile(name))
	if err != nil {
		return nil, pktgenFailed("open", name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostPktgen))
	if err != nil {
		return nil, pktgenFailed("read", name, err)
	}
	return b, nil
}

// WritePktgen gives a command to one of them, and tells the kernel's words where it is refused.
func WritePktgen(name, command string) error {
	f, err := os.OpenFile(PktgenFile(name), os.O_WRONLY, 0)
	if err != nil {
		return pktgenFailed("open", name, err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(command)); err != nil {
		said := ""
		if b, rerr := ReadPktgen(name); rerr == nil {
			said = pktgenResult(b)
		}
		return pktgenError(fmt.Sprintf("pktgen %s: %s%s", name, command, said), name, err)
	}
	return nil
}

// pktgenResult extracts what it says of the last command: ": ..." or nothing.
func pktgenResult(b []byte) string {
	for line := range strings.Lines(string(b)) {
		if r, ok := strings.CutPrefix(strings.TrimSpace(line), "Result: "); ok && r != "NA" {
			return fmt.Sprintf(": %.120q", r)
		}
	}
	return ""
}

// pktgenError wraps an error of a file of the generator's, or of what was written to it.
func pktgenError(op, name string, err error) error {
	return failed(remedy.FilePktgen, op, err, remedy.On{Path: PktgenFile(name), Facts: func(f remedy.Fact) (string,
		bool) {
		return "", f == remedy.PktgenThread && strings.HasPrefix(name, "kpktgend_") &&
			unix.Access(PktgenFile("pgctrl"), unix.F_OK) == nil
	}})
}

func pktgenFailed(what, name string, err error) error {
	return pktgenError(what+" the kernel's generator pktgen ("+name+")", name, err)
}

// PktgenLoaded checks that the kernel has the generator.
func PktgenLoaded() error {
	if err := unix.Access(PktgenFile("pgctrl"), unix.F_OK); err != nil {
		return pktgenFailed("open", "pgctrl", err)
	}
	return nil
}

// parsePktgenThread reads the devices of a thread: those that run, and those that do not.
func parsePktgenThread(b []byte) (devs []string, err error) {
	found := 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		word, rest, _ := strings.Cut(s.Text(), ":")
		if word == "Running" || word == "Stopped" {
			found++
			devs = append(devs, strings.Fields(rest)...)
		}
	}
	if found != 2 {
		return nil, fmt.Errorf("pktgen's list of a thread's devices: %.80q", b)
	}
	return devs, nil
}

// pktgenDevices lists the devices of a CPU's thread.
func pktgenDevices(cpu int) ([]string, error) {
	b, err := ReadPktgen(pktgenThread(cpu))
	if err != nil {
		return nil, err
	}
	return parsePktgenThread(b)
}

// PktgenBusy refuses a generator that somebody uses: any device of any thread of this network
// namespace is somebody's, but for those of the names in ours (as [PktgenName] has them). Who
// starts it starts all of them.
func PktgenBusy(ours ...string) error {
	all, err := os.ReadDir(pktgenRoot)
	if err != nil {
		return pktgenFailed("open", "", err)
	}
	for _, e := range all {
		n, ok := strings.CutPrefix(e.Name(), "kpktgend_")
		cpu, err := strconv.Atoi(n)
		if !ok || err != nil {
			continue
		}
		devs, err := pktgenDevices(cpu)
		if err != nil {
			return err
		}
		devs = slices.DeleteFunc(devs, func(dev string) bool { return slices.Contains(ours, dev) })
		if len(devs) > 0 {
			return &fault.Error{Op: fmt.Sprintf(
				"use the kernel's generator pktgen: its thread of CPU %d has %.60q, which is somebody's", cpu, devs[0]),
				Err: unix.EBUSY,
				How: fmt.Sprintf("see whose it is; if nobody's any more: echo rem_device_all > /proc/net/pktgen/%s",
					pktgenThread(cpu))}
		}
	}
	return nil
}

// takeFromPktgen takes a device away from a CPU's thread. The kernel has no command for one alone,
// so the list is looked at once more with the thread's file already open: what somebody adds
// between that and the next call would go, too.
func takeFromPktgen(cpu int, name string) error {
	f, err := os.OpenFile(PktgenFile(pktgenThread(cpu)), os.O_WRONLY, 0)
	if err != nil {
		return pktgenFailed("open", pktgenThread(cpu), err)
	}
	defer f.Close()
	devs, err := pktgenDevices(cpu)
	switch {
	case err != nil:
		return err
	case !slices.Equal(devs, []string{name}):
		return &fault.Error{Op: fmt.Sprintf(
			"take %s from pktgen: its thread has %.80q, and the kernel takes all away or none", name, devs),
			Err: unix.EBUSY, How: "end what uses the others, then: zcbench restore"}
	}
	if _, err := f.Write([]byte("rem_device_all")); err != nil {
		return pktgenError("take "+name+" from pktgen: rem_device_all", pktgenThread(cpu), err)
	}
	return nil
}

// pktgenSetting makes a setting of whether the thread of a CPU has the interface. The kernel can
// take all of a thread's devices away, but not one: with another one beside it ours stays, and that
// is reported.
func (d *Device) pktgenSetting(s *setting.Setting, arg string) error {
	cpu, err := strconv.Atoi(arg)
	if err != nil || cpu < 0 || cpu > 8191 || strconv.Itoa(cpu) != arg {
		return fmt.Errorf("setting pktgen %q: want the number of a CPU", arg)
	}
	name := PktgenName(d.Name, cpu)
	s.Get = func() (string, error) {
		devs, err := pktgenDevices(cpu)
		if slices.Contains(devs, name) {
			return present, err
		}
		return absent, err
	}
	s.Set = func(v string) error {
		if v == present {
			return WritePktgen(pktgenThread(cpu), "add_device "+name)
		}
		return takeFromPktgen(cpu, name)
	}
	s.Canon = oneOf(present, absent)
	return nil
}
