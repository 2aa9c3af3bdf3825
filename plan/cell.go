// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// Cell is one combination of what can be chosen of a run: every field but ID is an [Option].
// Runs with equal cells are repetitions of the same measurement. Zero values mean "left as
// found", or to the data path.
type Cell struct {
	ID           string `json:"id"` // readable and unique in a plan: "tcp/sendfile"
	RX           string `json:"rx_mode"`
	TX           string `json:"tx_mode"`
	GRO          *bool  `json:"gro,omitempty"`
	HWGRO        *bool  `json:"hw_gro,omitempty"`
	HeaderSplit  *bool  `json:"header_split,omitempty"` // of modes that do not split by themselves
	BigTCPBytes  int    `json:"big_tcp_bytes,omitempty"`
	CPULayout    string `json:"cpu_layout,omitempty"`    // "1cpu" or "2cpu"
	TGCPULayout  string `json:"tg_cpu_layout,omitempty"` // of the sender's host; "": as CPULayout
	RXBufLen     int    `json:"rx_buf_len,omitempty"`
	MTU          int    `json:"mtu,omitempty"`
	MessageBytes int    `json:"message_bytes,omitempty"`
	ReadBytes    int    `json:"read_bytes,omitempty"`
	RXBuffer     int    `json:"rx_buffer_bytes,omitempty"` // of the receiving application; 0: as MessageBytes
	Touch        string `json:"touch,omitempty"`           // none, read or verify
	Congestion   string `json:"congestion,omitempty"`

	TGBigTCPBytes int `json:"tg_big_tcp_bytes,omitempty"` // of the sender's interface; BigTCPBytes is the receiver's
	// devmem: fragments kept until they are given back in one call
	TokenBatch int `json:"token_batch,omitempty"`

	// Control is a fault that is made on purpose, to show that it would be noticed:
	// [WrongQueue], or empty for none.
	Control string `json:"control,omitempty"`

	// Probe is probes that ran with the flow, joined by + in the order of
	// [ProbeNames]; empty: none. ProbeSample is of how many packets the latency probe
	// looks at one.
	Probe       string `json:"probe,omitempty"`
	ProbeSample int    `json:"probe_sample,omitempty"`

	RcvBuf     int `json:"rcvbuf,omitempty"`       // SO_RCVBUF, bytes
	SndBuf     int `json:"sndbuf,omitempty"`       // SO_SNDBUF, bytes
	PaceBitsPS int `json:"pace_bits_ps,omitempty"` // of payload; of a share, once it is known what it comes to
	// share of what the slowest of the compared cells does without; 0: the rate was asked for
	PacePercent int `json:"pace_percent,omitempty"`
	// each run looks for the highest rate without loss; PaceBitsPS is then what was found, or
	// tried
	LossFree bool  `json:"pace_loss_free,omitempty"`
	Both     *bool `json:"both,omitempty"` // each end sends and receives at once
	// Then is what the receiving application does with the payload: [ThenForward], [ThenSplice], or
	// as [ThenWrite] says; "": nothing.
	Then string `json:"then,omitempty"`

	// Objects of a flow: how long each is, how often one is due, and how many flows' are due at the
	// same moment, 0: all flows'. See [Cell.PaceRate].
	ObjectBytes int    `json:"object_bytes,omitempty"`
	EveryUs     int    `json:"every_us,omitempty"`
	FanIn       int    `json:"fan_in,omitempty"`
	UringEngine string `json:"uring_engine,omitempty"`
	GatherUs    *int   `json:"gather_us,omitempty"`
	// Poll is who takes packets from the NIC's queues: [PollBusy] and the others, "": [PollIRQ], as
	// found; see [Cell.Polls]. BusyPollUs is how long sockets and rings do.
	Poll       string `json:"poll,omitempty"`
	BusyPollUs int    `json:"busy_poll_us,omitempty"`
	// TLS is who encrypts the payload, as package records has it; "": nobody.
	TLS string `json:"tls,omitempty"`

	// Of round trips: the sizes of a request and its answer, 0: [stream.DefaultTrip]; how many
	// requests of a flow may be without one, 0: one; and how many of all flows are to begin per
	// second, 0: as answers come.
	Request  int   `json:"request_bytes,omitempty"`
	Response int   `json:"response_bytes,omitempty"`
	InFlight int   `json:"in_flight,omitempty"`
	RRRate   int   `json:"rr_rate,omitempty"`
	FastOpen *bool `json:"fastopen,omitempty"` // of connections that are made for each
	// By datagrams: for how long an answer is waited for, 0: [stream.DefaultTripTimeout].
	RRTimeoutUs int `json:"rr_timeout_us,omitempty"`

	// what an XDP program does with a frame; "": what the mode needs
	XDPTouch  string `json:"xdp_touch,omitempty"`
	XDPAttach string `json:"xdp_attach,omitempty"` // where it runs; "": native
	// where xdp-redirect sends frames, see [stream.RedirectDev]; "": cpu
	XDPRedirect string `json:"xdp_redirect,omitempty"`
	Tuples      int    `json:"tuples,omitempty"`           // 5-tuples of generated frames; 0: one
	Burst       int    `json:"burst,omitempty"`            // frames that leave together at a pace; 0: one
	GenCPUs     string `json:"generator_cpus,omitempty"`   // that make frames, as a list; "": the sender's thread's
	UDPBatch    int    `json:"udp_batch,omitempty"`        // datagrams of one call; 0: the mode's default
	UDPSegment  *bool  `json:"udp_segmentation,omitempty"` // of the sender's interface

	// Turn is how long the cell is on each time, where that is not as the plan says: "240ms", or
	// [NoTurns]; "": as the plan says.
	Turn string `json:"turn,omitempty"`

	// Path are interfaces that packets pass one after another, apart by commas, whose counters
	// are read in the window (package ifpath); "": none.
	Path string `json:"path,omitempty"`

	// Flows is how many flows the run has, each moved by a thread of its own; 0: one. Queues is
	// how many RX queues they come by, in turn: flow n by queue n mod Queues of them, or by port
	// as their hash has it; 0: one each of modes that take queues over, and by port, of others as
	// found.
	Flows  int `json:"flows,omitempty"`
	Queues int `json:"queues,omitempty"`
	// QueueRings is how many rings share each queue, each with a thread and flows of its own; 0:
	// one. RingsIn says where they are but for the first, in [RingsThreads], "", or
	// [RingsProcesses].
	QueueRings int    `json:"queue_rings,omitempty"`
	RingsIn    string `json:"rings_in,omitempty"`

	// LeaseQueue is the NIC's RX queue that the receiver's container has leased, see [ParseLease];
	// "": the receiver is in no container.
	LeaseQueue string `json:"lease_queue,omitempty"`

	// RX queue to take over, or to steer the flow to; nil: the last, or as found
	Queue         *int   `json:"queue,omitempty"`
	SteerTo       *int   `json:"steer_to,omitempty"`
	Steer         string `json:"steer,omitempty"`   // [SteerPort]; "": a rule per flow
	Area          string `json:"area,omitempty"`    // memory that the NIC writes into
	TXArea        string `json:"tx_area,omitempty"` // memory that the sender's NIC reads from
	AreaBytes     int    `json:"area_bytes,omitempty"`
	AreaStart     int    `json:"area_start,omitempty"` // of AreaBytes: what the NIC has at first; 0: all
	RefillEntries int    `json:"refill_entries,omitempty"`
	CQEntries     int    `json:"cq_entries,omitempty"`
	HoldBytes     int    `json:"hold_bytes,omitempty"`

	RXRing        int    `json:"rx_ring,omitempty"` // descriptors of a queue
	TXRing        int    `json:"tx_ring,omitempty"`
	Channels      int    `json:"channels,omitempty"`  // queues
	Set           string `json:"set,omitempty"`       // other settings of the interfaces, see [Cell.Others]
	HugePages     int    `json:"hugepages,omitempty"` // of the default size
	Governor      string `json:"governor,omitempty"`
	SysctlProfile string `json:"sysctl_profile,omitempty"`
	MaxIdleUs     *int   `json:"max_idle_us,omitempty"`
	StopBalance   *bool  `json:"stop_irqbalance,omitempty"`
}

// WrongQueue is a [Cell].Control: the flow is steered to another queue than the one
// that the receive mode has taken over, so that the kernel copies all of it. Such a
// run must come out invalid.
const WrongQueue = "wrong-queue"

// SteerPort is a [Cell].Steer: one rule sends all flows of the run's port into an RSS context over
// its queues, by their hash, as servers have it.
const SteerPort = "port"

// Where the rings of a queue are ([Cell].RingsIn).
const (
	RingsThreads   = "threads"
	RingsProcesses = "processes"
)

// AsIntended ends the reason of such a run that came out so.
const AsIntended = ": as intended by this negative control"

// CellKey tells cells apart: runs with equal keys are repetitions of one measurement.
type CellKey string

// Key joins all that is chosen in a cell into one text. The cell's id does not count.
func (c Cell) Key() CellKey {
	var b strings.Builder
	b.Grow(160)
	for i := range Options {
		b.WriteString(Options[i].Raw(&c))
		b.WriteByte(0)
	}
	return CellKey(b.String())
}

// Over returns c, with what it leaves open as in d.
func (c Cell) Over(d Cell) Cell {
	for i := range Options {
		if o := &Options[i]; o.Raw(&c) == "" {
			if v := o.Raw(&d); v != "" {
				_ = o.Load(&c, v) // d has it
			}
		}
	}
	return c
}

// TGLayout returns the layout of the sender's CPUs: its own, or else the receiver's.
func (c *Cell) TGLayout() string { return cmp.Or(c.TGCPULayout, c.CPULayout) }

// NFlows returns the number of flows of the cell.
func (c *Cell) NFlows() int { return max(c.Flows, 1) }

// NRings returns how many rings share each RX queue that the receive mode takes over.
func (c *Cell) NRings() int { return max(c.QueueRings, 1) }

// Steers reports whether the flows are to arrive on RX queues that the receive mode does not take
// over.
func (c *Cell) Steers() bool {
	m, err := modes.Find(stream.RX, c.RX)
	return (c.Queue != nil || c.Queues > 0 || c.ByPort()) && err == nil && !m.TakesQueue()
}

// ByPort reports whether one rule steers all flows of the run. Where each request has a connection
// of its own, each flow has a port of its own instead, and a rule for that.
func (c *Cell) ByPort() bool { return c.Steer == SteerPort && !c.Connects() }

// BothWays reports whether each end sends and receives at once.
func (c *Cell) BothWays() bool { return c.Both != nil && *c.Both }

// What the receiving application may do with the payload.
const (
	ThenForward = "forward" // pass it on, back to the TG
	ThenSplice  = "splice"  // likewise, by splice(2)
	thenTo      = "write:"  // write it to a file in the folder that is named
)

// ThenWrite returns the [Cell].Then that writes payload to a file in a folder.
func ThenWrite(dir string) string { return thenTo + dir }

// thens are the words of the option.
var thens = []string{"none", ThenForward, ThenSplice}

// PassesOn reports whether the receiving application passes the payload on, to the TG.
func (c *Cell) PassesOn() bool { return c.Then == ThenForward || c.Then == ThenSplice }

// WritesTo returns the folder that the receiving application writes payload to; "": it writes none.
func (c *Cell) WritesTo() string {
	if dir, ok := strings.CutPrefix(c.Then, thenTo); ok {
		return dir
	}
	return ""
}

// RoundTrips reports whether the cell's sender sends requests and waits for answers.
func (c *Cell) RoundTrips() bool {
	m, err := modes.Find(stream.TX, c.TX)
	return err == nil && m.Has(stream.RoundTrips)
}

// Connects reports whether each request of the cell's sender has a connection of its own.
func (c *Cell) Connects() bool {
	m, err := modes.Find(stream.TX, c.TX)
	return err == nil && m.Has(stream.Connects)
}

// Mode returns the name of the mode of an end: "" if the cell has none for it.
func (c *Cell) Mode(role stream.Role) string {
	if role == stream.RX {
		return c.RX
	}
	return c.TX
}

// modes looks up the modes of both ends and leaves out unknown ones.
func (c *Cell) modes() []stream.Mode {
	all := make([]stream.Mode, 0, 2)
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if m, err := modes.Find(role, c.Mode(role)); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// OneKind reports whether both ends move the same kind of data: only then can one flow connect
// them.
func (c *Cell) OneKind() bool {
	all := c.modes()
	return len(all) < 2 || all[0].Kind == all[1].Kind
}

// Unpaired finds a mode that carries what none of the other role's modes does, and returns it in a
// cell whose [Cell.Check] names possible partners; nil: each mode has a partner.
func Unpaired(rx, tx []string) *Cell {
	pair := func(r, t string) *Cell { return &Cell{RX: r, TX: t} }
	for _, r := range rx {
		if len(tx) > 0 && !slices.ContainsFunc(tx, func(t string) bool { return pair(r, t).OneKind() }) {
			return pair(r, tx[0])
		}
	}
	for _, t := range tx {
		if len(rx) > 0 && !slices.ContainsFunc(rx, func(r string) bool { return pair(r, t).OneKind() }) {
			return pair(rx[0], t)
		}
	}
	return nil
}

// Drop leaves out of c what concerns none of its modes.
func (c *Cell) Drop() {
	c.dropPoll()
	all := c.modes()
	for i := range Options {
		if o := &Options[i]; !o.concernsAny(all) {
			o.Clear(c)
		}
	}
}

func (c *Cell) modeNames() string {
	var names []string
	for _, m := range c.modes() {
		names = append(names, string(m.Role)+" "+m.Name)
	}
	return strings.Join(names, ", ")
}

// Returns reports whether a cell's throughput says what it can do, so that it has a return on cost:
// not at a pace, where the return would say how fast the pace was and a mode at two paces would
// look like two, and not with packets and round trips, which are not sent for their bytes.
func (c *Cell) Returns() bool {
	return !c.Paced() && !c.MovesPackets() && !c.RoundTrips()
}
