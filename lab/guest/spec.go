// SPDX-License-Identifier: MIT

package guest

import "time"

// SpecPath is where the initramfs holds the Spec, as JSON.
const SpecPath = "/lab/spec.json"

// ModulePath is where the initramfs holds the soft NIC.
const ModulePath = "/lab/softnic.ko"

// DriverDir is where the initramfs holds the modules of the distribution.
const DriverDir = "/lab/drivers"

// OutDir is the folder whose files go back to the host; the command finds it in
// $OUT.
const OutDir = "/out"

// Env marks the guest: the command finds it set to the kernel's release.
const Env = "ZCBENCH_LAB"

// The virtio-serial ports. Control carries Orders to the guest and Reports back, one
// JSON object a line; In and Out an archive for each command, in chunks; Kmsg the
// kernel's messages as they come; Stdout and Stderr what the commands write, with a
// mark at the end of each.
const (
	PortStdout  = "lab.stdout"
	PortStderr  = "lab.stderr"
	PortControl = "lab.control"
	PortKmsg    = "lab.kmsg"
	PortIn      = "lab.in"
	PortOut     = "lab.out"
)

// Ports are all ports, in the order of their addresses on the bus.
var Ports = []string{PortStdout, PortStderr, PortControl, PortKmsg, PortIn, PortOut}

// The namespaces and what their ends of the wire are called.
const (
	NSReceiver = "sut" // holds sn0
	NSSender   = "tg"  // holds sn1
)

// Spec says what machine the guest is to make of itself.
type Spec struct {
	Probe  bool     `json:"probe,omitempty"`  // say that it booted and power off
	Module string   `json:"module,omitempty"` // parameters for softnic.ko
	NIC    *NIC     `json:"nic,omitempty"`    // in place of the soft NIC; nil: that
	Load   []string `json:"load,omitempty"`   // modules of the distribution to load, paths in the guest
	MTU    int      `json:"mtu,omitempty"`    // of both ends; 0: DefaultMTU
}

// DefaultMTU leaves a page of payload beside IPv4 or IPv6 and TCP headers with
// time stamps: 4096 + 40 + 32 less what IPv4 saves. A full segment then fills
// one page, as zero-copy receive wants.
const DefaultMTU = 4148

// grace is how long the guest gives a command that ran out of time to die of
// SIGQUIT (a Go program prints its goroutines) before it is killed.
const grace = 3 * time.Second
