// SPDX-License-Identifier: MIT

package guest

// Order is what the host tells the guest, one line on the control port.
type Order struct {
	Job     *Job  `json:"job,omitempty"`     // run this; the archive of its files comes through PortIn
	Wake    *Wake `json:"wake,omitempty"`    // say Ready again
	Timeout int   `json:"timeout,omitempty"` // the time of the job with this number is up
}

// Job is one command.
type Job struct {
	N       int      `json:"n"`                 // counts the jobs of a machine, from 1
	Args    []string `json:"args"`              // the command; Args[0] is a path in the guest
	Dir     string   `json:"dir,omitempty"`     // its working directory, made if absent
	Env     []string `json:"env,omitempty"`     // added to the guest's own
	Returns []string `json:"returns,omitempty"` // paths that go back to the host besides OutDir
	Module  string   `json:"module,omitempty"`  // parameters for softnic.ko; empty: the machine's
	Mark    string   `json:"mark"`              // ends its output on PortStdout and PortStderr
}

// Report is what the guest tells the host, one line on the control port.
type Report struct {
	Ready  *Ready  `json:"ready,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// Ready says that the machine is set up for a job; none goes out before.
type Ready struct {
	Err    string  `json:"err,omitempty"` // it is not, and will not be
	Uptime float64 `json:"uptime"`        // seconds from kernel start
	// Complaints are the kernel's since the last job, which count against the next.
	Complaints []string `json:"complaints,omitempty"`
}

// Result is how a job went.
type Result struct {
	Exit       int      `json:"exit"`                 // the command's exit status, 128+n when signal n ended it
	Err        string   `json:"err,omitempty"`        // what went wrong outside the command
	NotFound   bool     `json:"not_found,omitempty"`  // the command is not there
	NotExec    bool     `json:"not_exec,omitempty"`   // the kernel would not run it
	TimedOut   bool     `json:"timed_out,omitempty"`  // the host said that the time was up
	Complaints []string `json:"complaints,omitempty"` // kernel messages and leaks that must not be
	StartS     float64  `json:"start_s"`              // seconds from kernel start to the command's start
	EndS       float64  `json:"end_s"`                // seconds from kernel start to this result
}
