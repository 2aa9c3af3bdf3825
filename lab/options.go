// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/driver"
)

// Defaults of MachineOptions and ExecOptions.
const (
	DefaultCPUs    = 2
	DefaultMemMiB  = 2048
	DefaultTimeout = 10 * time.Minute
	DefaultOut     = "out/lab"
)

// MachineOptions say which machine to boot. The zero value boots the default kernel.
type MachineOptions struct {
	Cache   string   // as in BuildOptions
	Kernel  string   // as one of BuildOptions.Kernels; empty: the default
	CPUs    int      // processors; 0: DefaultCPUs
	MemMiB  int      // memory, MiB; 0: DefaultMemMiB
	Module  string   // parameters for softnic.ko: "inline_dma=1"
	NIC     string   // one of NICs: whose control plane the soft NIC has, or what is there in its place
	Card    string   // what a NIC of ours does besides, such as faults: see gvnic.ParseOptions
	MTU     int      // of both ends; 0: guest.DefaultMTU
	Init    string   // program to run as /init, which calls guest.Main; empty: this one
	NoKVM   bool     // emulate even where KVM works
	QEMU    []string // more arguments for QEMU, such as devices
	Load    []string // Debian's modules to load, each after those it depends on: "ipmi_msghandler"
	Install bool     // as in BuildOptions
	// Resume goes on from the state of an earlier machine of the same options, which was
	// kept when it had just booted, or keeps this one's. Without KVM only, and in Exec.
	Resume bool
	// CountTime makes the guest's clocks count instructions, one a nanosecond,
	// whatever the host does meanwhile; it emulates.
	CountTime bool
	// CountEmulated is CountTime where the guest must be emulated.
	CountEmulated bool

	disk bool // QEMU has a disk in it

	// Booting, unless nil, is called when the machine is about to be switched on.
	Booting func(release string, kvm bool)
}

// Imitated are the drivers whose control plane the soft NIC can imitate.
var Imitated = driver.Imitated()

// module returns the parameters that the soft NIC is loaded with.
func (o *MachineOptions) module() string {
	if o.NIC == "" || o.qemuNIC() != nil {
		return o.Module
	}
	return strings.TrimSpace("imitate=" + o.NIC + " " + o.Module)
}

// check refuses a machine that QEMU or the soft NIC could not be.
func (o *MachineOptions) check() error {
	for _, x := range []struct {
		flag             string
		got, least, most int
	}{{"cpus", o.CPUs, 1, 255}, {"mem", o.MemMiB, 512, 1 << 20}, {"mtu", o.MTU, 1280, 9600}} {
		if x.got != 0 && (x.got < x.least || x.got > x.most) {
			return inputf("read the machine's options", "", "--%s %d: want %d to %d", x.flag, x.got, x.least, x.most)
		}
	}
	return o.checkNIC()
}

func (o *MachineOptions) setInit() error {
	if o.Init != "" {
		return nil
	}
	self, err := os.Executable()
	o.Init = self
	return err
}

// ExecOptions says what to run and where. Only Args is needed.
type ExecOptions struct {
	MachineOptions
	Args    []string      // the command: a static x86-64 program of this host, or zcbench
	Timeout time.Duration // for the command; 0: DefaultTimeout
	Out     string        // where files under the guest's $OUT go; empty: $OUT, else DefaultOut
	Files   []string      // more files or folders to carry, to the same absolute path
	Env     []string      // NAME=VALUE for the command
	OwnBoot bool          // boot a machine although one is up that would do

	Stdout, Stderr io.Writer // the command's output; nil: this process's own
	Log            io.Writer // the lab's progress and the kernel's complaints; nil: os.Stderr
}

func (o *ExecOptions) defaults() error {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Out == "" {
		o.Out = os.Getenv("OUT")
	}
	if o.Out == "" {
		o.Out = DefaultOut
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	if len(o.Args) == 0 {
		return inputf("read the command", "zcbench lab exec -- CMD ARGS...", "no command given")
	}
	return errors.Join(o.check(), o.setInit()) // also where a machine is up, which does not ask
}
