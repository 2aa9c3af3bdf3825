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

// The virtio-serial ports. Control carries one JSON Result to the host and the
// line "timeout" from it; Kmsg the kernel's messages as they come; Out a tar
// archive.
const (
	PortStdout  = "lab.stdout"
	PortStderr  = "lab.stderr"
	PortControl = "lab.control"
	PortKmsg    = "lab.kmsg"
	PortOut     = "lab.out"
)

// Ports are all ports, in the order of their addresses on the bus.
var Ports = []string{PortStdout, PortStderr, PortControl, PortKmsg, PortOut}

// TimeoutWord is what the host writes to the control port when the time is up.
const TimeoutWord = "timeout\n"

// The namespaces and what their ends of the wire are called.
const (
	NSReceiver = "sut" // holds sn0
	NSSender   = "tg"  // holds sn1
)

// Spec says what the guest is to do.
type Spec struct {
	Probe   bool     `json:"probe,omitempty"`   // say that it booted and power off
	Args    []string `json:"args,omitempty"`    // the command; Args[0] is a path in the guest
	Dir     string   `json:"dir,omitempty"`     // its working directory, made if absent
	Env     []string `json:"env,omitempty"`     // added to the guest's own
	Module  string   `json:"module,omitempty"`  // parameters for softnic.ko
	Load    []string `json:"load,omitempty"`    // modules of the distribution to load, paths in the guest
	MTU     int      `json:"mtu,omitempty"`     // of both ends; 0: DefaultMTU
	Returns []string `json:"returns,omitempty"` // paths that go back to the host besides OutDir
}

// DefaultMTU leaves a page of payload beside IPv4 or IPv6 and TCP headers with
// time stamps: 4096 + 40 + 32 less what IPv4 saves. A full segment then fills
// one page, as zero-copy receive wants.
const DefaultMTU = 4148

// Grace is how long the guest gives a command that ran out of time to die of
// SIGQUIT (a Go program prints its goroutines) before it is killed.
const Grace = 3 * time.Second

// Result is how it went.
type Result struct {
	Exit       int      `json:"exit"`                 // the command's exit status, 128+n when signal n ended it
	Err        string   `json:"err,omitempty"`        // what went wrong outside the command
	NotFound   bool     `json:"not_found,omitempty"`  // the command is not there
	NotExec    bool     `json:"not_exec,omitempty"`   // the kernel would not run it
	TimedOut   bool     `json:"timed_out,omitempty"`  // the host said that the time was up
	Complaints []string `json:"complaints,omitempty"` // kernel messages and leaks that must not be
	ReadyS     float64  `json:"ready_s"`              // seconds from kernel start to the command's start
	TotalS     float64  `json:"total_s"`              // seconds from kernel start to this result
}
