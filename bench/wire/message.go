// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Version is the protocol's version. Both ends must have the same, and the same
// tool version: results of unequal builds are not comparable.
const Version = 1

// Op names a request.
type Op string

// The requests, with their parameters and results.
const (
	OpHello   Op = "hello"   // Hello -> HelloResult; must come first
	OpAlive   Op = "alive"   // nothing -> nothing; answered also while another request is worked on
	OpClock   Op = "clock"   // nothing -> Clock
	OpModes   Op = "modes"   // ModesParams, or nothing -> []ModeSupport
	OpCheck   Op = "check"   // ModesParams, or nothing -> []Check
	OpLadders Op = "ladders" // ModesParams -> []Ladder
	OpRecord  Op = "record"  // ModesParams -> tape.File
	OpAddrs   Op = "addrs"   // nothing -> []Interface
	OpSurvey  Op = "survey"  // SurveyParams -> Survey
	OpRoute   Op = "route"   // RouteParams -> Route
	OpSet     Op = "set"     // Settings -> SetResult; instead of those before, which are restored
	OpOwed    Op = "owed"    // nothing -> Owed; what OpFinish would restore
	OpFinish  Op = "finish"  // nothing -> []string; restores what dead processes left, and says so
	OpRestore Op = "restore" // RestoreParams -> []lease.Report; as OpFinish, for people who ask
	OpOpen    Op = "open"    // EndSpec -> Opened; prepares one end of a flow
	OpRun     Op = "run"     // Schedule -> EndResult; answered when the flow has ended
	OpAbort   Op = "abort"   // EndRef, or nothing -> nothing; ends the flow, OpRun is still answered
	OpClose   Op = "close"   // EndRef, or nothing -> nothing; frees the end
)

// Request is one line from the controller.
type Request struct {
	ID     int             `json:"id"`
	Op     Op              `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Decode reads the parameters strictly into v.
func (r Request) Decode(v any) error {
	if len(r.Params) == 0 {
		return fmt.Errorf("%s: parameters missing", r.Op)
	}
	if err := decodeObject(r.Params, v); err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	return nil
}

// Ending is the ID of an answer to no request: the agent, whose input has ended,
// is still taking back what it has set. It comes every EndingEvery.
const (
	Ending      = 0
	EndingEvery = time.Second
)

// Response is one line from the agent.
type Response struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Decode reads the result strictly into what v points to, cleans and checks it: see
// [checker]. What does not pass leaves v as it was, and is a [fault.NonsenseError].
func (r Response) Decode(v any) error {
	got := reflect.New(reflect.TypeOf(v).Elem())
	if err := checkItems(r.Result); err != nil {
		return &fault.NonsenseError{Err: err}
	}
	if err := decodeStrict(r.Result, got.Interface()); err != nil {
		return &fault.NonsenseError{Err: err}
	}
	if err := vet(got.Elem()); err != nil {
		return &fault.NonsenseError{Err: err}
	}
	reflect.ValueOf(v).Elem().Set(got.Elem())
	return nil
}

// Vet cleans and checks the answer itself, with its error; not yet its result.
func (r *Response) Vet() error {
	if err := vet(reflect.ValueOf(r).Elem()); err != nil {
		return &fault.NonsenseError{Err: err}
	}
	return nil
}

// Error is a request that failed.
type Error struct {
	Message string          `json:"message"`
	How     string          `json:"fix,omitempty"`
	Verdict results.Verdict `json:"verdict"` // failed, or unsupported
}

func (e *Error) Error() string { return e.Message }

// Fix returns what the user can do about it.
func (e *Error) Fix() string { return e.How }

// Hello opens the conversation.
type Hello struct {
	Version     int    `json:"version"`
	ToolVersion string `json:"tool_version"`
	// Session and Command are what others are told who want what the agent has
	// leased: the session, and the controller's command line, without what may be
	// secret.
	Session string `json:"session,omitempty"`
	Command string `json:"command,omitempty"`
	// SilenceNs: a controller that says nothing for so long is lost, nanoseconds;
	// 0: only the end of input tells.
	SilenceNs int64 `json:"silence_ns,omitempty"`
	// SSH: the agent was started by ssh, and minds the interface by which that comes,
	// unless SharedWithSSH: the user said that the flow may share it.
	SSH           bool `json:"ssh,omitempty"`
	SharedWithSSH bool `json:"shared_with_ssh,omitempty"`
	// Exec: the agent was started by a command that the controller runs, which names itself so
	// (package ssh, Self). The agent minds the interfaces by which that comes, as far as it sees
	// them.
	Exec string `json:"exec,omitempty"`
}

// HelloResult is who the agent is.
type HelloResult struct {
	Version     int         `json:"version"`
	ToolVersion string      `json:"tool_version"`
	PID         int         `json:"pid"`
	NetNS       string      `json:"netns"` // "dev:inode" of its network namespace
	OnlineCPUs  []int       `json:"online_cpus"`
	PinCPUs     []int       `json:"pin_cpus,omitempty"` // that its threads can be bound to
	OwnCPUs     []int       `json:"own_cpus,omitempty"` // that it was started on
	Env         measure.Env `json:"env"`
	// NotKernels are the files of kernelfile.InContainers that are not the kernel's here.
	NotKernels []string `json:"not_kernels,omitempty"`

	// NoTurns: the agent may not set [TurnsNeed].
	NoTurns bool `json:"no_turns,omitempty"`

	Cores []string  `json:"cores,omitempty"` // lists of CPUs that are threads of one core
	Nodes []cpuNode `json:"nodes,omitempty"` // NUMA nodes, where there are several

	Classes []cpuClass `json:"classes,omitempty"` // kinds of CPUs, the fastest first, where there are several
}

// cpuClass is CPUs of one kind.
type cpuClass struct {
	Name string `json:"name"`
	CPUs string `json:"cpus"` // a list
}

// Owed is what dead processes left, and OpFinish would restore.
type Owed struct {
	// SSH: it is of an interface by which ssh comes, which may be quiet for longer than usual
	// meanwhile.
	SSH bool `json:"ssh,omitempty"`
}

// cpuNode is a NUMA node with CPUs.
type cpuNode struct {
	Node int    `json:"node"`
	CPUs string `json:"cpus"` // a list
}

// Clock is the agent's CLOCK_MONOTONIC, nanoseconds.
type Clock struct {
	MonotonicNs int64 `json:"monotonic_ns"`
}

// ModesParams says which modes are asked for, and what they are to run on.
type ModesParams struct {
	Role  stream.Role `json:"role,omitempty"`  // "": both
	Names []string    `json:"names,omitempty"` // nil: all
	Dev   string      `json:"dev,omitempty"`   // interface; "": only what does not depend on one
}

// ModeSupport is whether one mode can run on the agent's host.
type ModeSupport struct {
	Role      stream.Role `json:"role"`
	Name      string      `json:"name"`
	Summary   string      `json:"summary"`
	Supported bool        `json:"supported"`
	Blocked   bool        `json:"blocked,omitempty"` // see [fault.Unsupported]
	Reason    string      `json:"reason,omitempty"`
	Doubt     string      `json:"doubt,omitempty"` // only a run can tell, see [fault.Doubt]
	Fix       string      `json:"fix,omitempty"`
}

// Check is one thing that the doctor looked at.
type Check struct {
	Name    string `json:"name"`
	Status  string `json:"status"` // "ok", "warn", "lacking"
	Found   string `json:"found"`
	Needed  string `json:"needed,omitempty"`
	Errno   string `json:"errno,omitempty"`   // what the kernel answered, such as EOPNOTSUPP
	Fix     string `json:"fix,omitempty"`     // in words
	Command string `json:"command,omitempty"` // the fix as a command, where one does it
}

// Ladder is what one mode needs, rung by rung, and whether it can run.
type Ladder struct {
	ModeSupport
	Rungs      []Check  `json:"rungs"`
	Impossible []string `json:"impossible,omitempty"` // combinations that this NIC cannot do
}

// Interface is a network interface of the agent's namespace.
type Interface struct {
	Name      string   `json:"name"`
	Up        bool     `json:"up"`
	Loopback  bool     `json:"loopback"`
	MTU       int      `json:"mtu"`
	Addrs     []string `json:"addrs"`                // without prefix length, IPv4 first
	LinkLocal []string `json:"link_local,omitempty"` // likewise, those of fe80::/10 and 169.254.0.0/16, without zone
	NearCPUs  []int    `json:"near_cpus,omitempty"`  // online CPUs of its NUMA node, one of each core
	Driver    string   `json:"driver,omitempty"`
	Firmware  string   `json:"firmware,omitempty"`
	SSH       string   `json:"ssh,omitempty"` // how it shares a wire with the controller's ssh connection

	Kind  string   `json:"kind,omitempty"`  // of a virtual one, such as "vlan 100", "bond active-backup"
	Below []string `json:"below,omitempty"` // what it stands on, the nearest first
	Ports []string `json:"ports,omitempty"` // those at the bottom, which have queues of their own
	Port  string   `json:"port,omitempty"`  // the one of them that a flow uses; "": not known

	RXQueues []int `json:"rx_queues,omitempty"` // their numbers; none: not known
	Rules    int   `json:"rules,omitempty"`     // ntuple rules that it has; 0: none, or not known

	Index int `json:"index,omitempty"`
	Peer  int `json:"peer,omitempty"` // index of the other end, of a pair such as veth; 0: it is none
}

// RouteParams asks how a peer is reached.
type RouteParams struct {
	Addr string `json:"addr"`
}

// Route is how packets to a peer leave.
type Route struct {
	Dev string `json:"dev"`
}

// EndSpec is one end of a flow.
type EndSpec struct {
	EndRef
	Role stream.Role `json:"role"`
	Cell plan.Cell   `json:"cell"`          // what was chosen; the other end's mode may be missing
	Addr string      `json:"addr"`          // RX: where to listen; TX: the receiver's data port
	Dev  string      `json:"dev,omitempty"` // the interface whose queues the flow uses
	// the one with address and route, where that is another, such as a VLAN
	Upper  string        `json:"upper,omitempty"`
	More   []Port        `json:"more,omitempty"` // interfaces beside that one
	Cookie stream.Cookie `json:"cookie"`

	Flows       []FlowSpec `json:"flows"`
	MeasureCPUs []int      `json:"measure_cpus,omitempty"` // whose time is this end's; empty: all
	SampleMs    int        `json:"sample_ms,omitempty"`    // interval of the time series; 0: none
	Shares      bool       `json:"shares,omitempty"`       // with other ends of the agent, where its softirq is put
	// Beside is of the receivers that have turns, where modes among them take queues over; nil:
	// none do.
	Beside *QueueShare `json:"beside,omitempty"`

	Pair *Pair `json:"pair,omitempty"` // nil: the other end is elsewhere

	// Answers is the mode to whose requests a receiver on its own lends answers; "": to none. A
	// cell with both modes says it itself.
	Answers string `json:"answers,omitempty"`

	Inside *Inside `json:"inside,omitempty"` // nil: the flow comes to the agent's network namespace
}

// Inside is a container that a receiver's flows come to, of which the agent is outside: where the
// NIC is.
type Inside struct {
	Netns string `json:"netns"` // the path of its network namespace
	Queue int    `json:"queue"` // of the NIC, which is leased to it
}

// QueueShare is an end's part of the RX queues that several ends have, one after another: they
// begin with the queue that the cells name, or are the last ones of the interface. So no two ends
// take the same, and other flows are kept off all of them before the first is taken.
type QueueShare struct {
	All  int `json:"all"`            // queues of all ends
	Each int `json:"each"`           // of each end that takes queues over
	Own  int `json:"own,omitempty"`  // of this end; 0: its flows come as found
	From int `json:"from,omitempty"` // which of them is its first
	// Rules are how many flows of all ends are steered.
	Rules int `json:"rules,omitempty"`
}

// mostShared bounds the queues of all ends.
const mostShared = 1 << 16

// Check refuses a part that is not one of the whole.
func (q *QueueShare) Check() error {
	if q != nil && (q.All < 1 || q.All > mostShared || q.Each < 1 || q.Each > q.All || q.Own < 0 || q.From < 0 ||
		q.Rules < 0 || q.From > q.All-q.Own) {
		return fmt.Errorf("RX queues %d and %d more of %d, %d for each end", q.From, q.Own, q.All, q.Each)
	}
	return nil
}

// Pair is the other end's interface, of a flow between two ends of a machine.
type Pair struct {
	Linked bool `json:"linked,omitempty"` // to this end's, as the two of a veth link
	Index  int  `json:"index"`
	Netns  int  `json:"netns"` // inode of its namespace
}

// Check refuses what is no container, and one of a sender.
func (in *Inside) Check(s *EndSpec) error {
	switch {
	case in == nil:
	case s.Role != stream.RX || s.Dev == "":
		return errors.New("a container without a NIC's queue")
	case !filepath.IsAbs(in.Netns) || len(in.Netns) > 4096 || in.Queue < 0 || in.Queue > 65535:
		return fmt.Errorf("a container at %.80q, of queue %d", in.Netns, in.Queue)
	}
	return nil
}

// FlowSpec is one flow at one end.
type FlowSpec struct {
	CPU int `json:"cpu"` // of the thread that moves it; -1: not pinned
	// SoftirqCPU is where the receive softirq of the interface (of loopback, where none is
	// named) is put and must run for the flow; nil leaves it as found.
	SoftirqCPU *int `json:"softirq_cpu,omitempty"`
	Queue      *int `json:"queue,omitempty"` // RX queue of its own; nil: that of the cell
}

// OneFlow specifies a single flow, moved by a thread on a CPU; -1 does not pin it.
func OneFlow(cpu int) []FlowSpec { return []FlowSpec{{CPU: cpu}} }

// Mode returns the name of the end's mode.
func (s *EndSpec) Mode() string { return s.Cell.Mode(s.Role) }

// Opened is an end that is ready.
type Opened struct {
	Addr string `json:"addr,omitempty"` // RX: the data port
	// ReadsNs is how long an end with turns has to be given beside [TurnReads], on each side of a
	// turn, to read its probes.
	ReadsNs int64 `json:"reads_ns,omitempty"`
}

// Schedule is when things happen, on the agent's CLOCK_MONOTONIC in
// nanoseconds. 0 leaves an event to the flow: it starts at once, is measured
// from its first to its last byte, and stops after Duration.
type Schedule struct {
	EndRef
	StartNs int64 `json:"start_ns,omitempty"` // the sender connects
	FromNs  int64 `json:"from_ns,omitempty"`  // the steady window begins
	ToNs    int64 `json:"to_ns,omitempty"`    // and ends
	StopNs  int64 `json:"stop_ns,omitempty"`  // the sender stops

	// StopBytes, unless 0, bounds the flow by its payload: the sender stops when the
	// kernel has taken so much from it, and a flow that has not brought it by StopNs
	// has failed. Such a flow has no FromNs and ToNs.
	StopBytes uint64 `json:"stop_bytes,omitempty"`

	DurationNs    int64 `json:"duration_ns,omitempty"`     // wish of an end without StopNs
	PeerWaitNs    int64 `json:"peer_wait_ns,omitempty"`    // how long to wait for the other end; 0: for ever
	StallNs       int64 `json:"stall_ns,omitempty"`        // no byte for so long fails the run; 0: 10 s
	GraceNs       int64 `json:"grace_ns,omitempty"`        // after the stop, how long the end of flow may take; 0: 10 s
	MaxCopiedFrac Frac  `json:"max_copied_frac,omitempty"` // of a zero-copy run; nil: 0.01

	Turns *Turns `json:"turns,omitempty"` // nil: the end is on all the time
}

// MostReadBack bounds how long a receiver that wrote to files may take to read them back, after the
// flows have ended.
const MostReadBack = 50 * time.Second

// Frac is a fraction that may be absent.
type Frac = *float64

// EndResult is what one end did.
type EndResult struct {
	Verdict results.Verdict `json:"verdict"`
	Reason  string          `json:"reason,omitempty"`
	Fix     string          `json:"fix,omitempty"`
	// BlamesPeer: the reason only says that the other end broke off, or that the
	// run was called off.
	BlamesPeer bool `json:"blames_peer,omitempty"`
	// Expected: invalid because the kernel copied, which it must of this mode on this
	// interface.
	Expected bool `json:"expected,omitempty"`

	Host      results.Host    `json:"host"`
	Total     stream.Counters `json:"total"`                // the whole flow
	Window    stream.Counters `json:"window"`               // the steady window; only Bytes, Calls and what else grows
	PeerBytes *uint64         `json:"peer_bytes,omitempty"` // TX: what the receiver says it got
	Linear    bool            `json:"linear,omitempty"`     // linear bytes are counted, see stream.Evidence
	FlowNs    int64           `json:"flow_ns"`              // from the open flow to its end
	FromNs    int64           `json:"from_ns"`              // when the window's figures were really read
	ToNs      int64           `json:"to_ns"`
	Strangers uint64          `json:"strangers"`   // RX: connections that were not the flow
	ProcUserS float64         `json:"proc_user_s"` // CPU time of the process over the flow, seconds
	ProcSysS  float64         `json:"proc_sys_s"`
	Warnings  []string        `json:"warnings,omitempty"`
	Flags     []string        `json:"flags,omitempty"`
	// of the measured CPUs in the window, as pprof has it; at most MaxProfile
	Profile []byte       `json:"profile,omitempty"`
	Turns   *TurnsResult `json:"turns,omitempty"` // nil: there were none

	// Of the other way, where the end sent and received at once: the whole flows.
	BackBytes uint64 `json:"back_bytes,omitempty"`
	BackNs    int64  `json:"back_ns,omitempty"`
}

// MaxProfile bounds a run's profile of one end, in bytes: with it and the most points of series, an
// account stays below [MaxLine]. A minute of two CPUs takes some 100 kB.
const MaxProfile = 1 << 20
