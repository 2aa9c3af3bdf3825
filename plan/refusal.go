// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// Refusal is why a cell cannot run, and what to do about it.
type Refusal struct {
	Reason, Fix string
	// Blocked: what was asked for, or the state of the hosts, is in the way. No feature is missing.
	Blocked bool
}

// rule is one reason for which a cell cannot run. One of its functions is set; each says why, and
// what to do.
type rule struct {
	Name  string
	Looks string                                 // at what
	cell  func(c *Cell, all []stream.Mode) error // all are the cell's modes that there are
	mode  func(m stream.Mode, c *Cell) error     // of each end
	run   func(c *Cell, h *Hosts) *Refusal       // h is nil where no host was asked
}

// rules are all of them, in the order in which they are asked: the first that refuses is told.
var rules = []rule{
	{Name: "ports", Looks: "interfaces that stand on others", run: ofHosts((*Hosts).ports)},
	{Name: "features", Looks: "what the hosts tried", run: ofHosts((*Hosts).features)},
	{Name: "receive mode", Looks: "the list of modes", run: exists(stream.RX)},
	{Name: "one kind", Looks: "what both modes carry", cell: oneKind},
	{Name: "leased queue", Looks: "queues beside the leased one", cell: leaseFits},
	{Name: "idle queues", Looks: "queues and flows", cell: queuesHaveFlows},
	{Name: "steering", Looks: "how flows get to queues", cell: steersOneWay},
	{Name: "rings", Looks: "rings and flows of a queue, and what memory grows",
		cell: func(c *Cell, _ []stream.Mode) error {
			return c.CheckRings()
		}},
	{Name: "options", Looks: "each option's value, and whether it concerns a mode", cell: optionsFit},
	{Name: "poll", Looks: "who polls, and how a mode waits", cell: pollFits},
	{Name: "loss-free pace", Looks: "what may be lost", cell: func(c *Cell, _ []stream.Mode) error {
		return c.CheckLossFree()
	}},
	{Name: "objects", Looks: "their size, rhythm and flows", cell: objectsFit},
	{Name: "packets", Looks: "their sizes", cell: packetsFit},
	{Name: "AF_XDP", Looks: "flows of one interface", cell: oneXSKFlow},
	{Name: "frames", Looks: "their size, touch and flows", cell: framesFit},
	{Name: "stream probes", Looks: "probes beside packets", cell: probesFit},
	{Name: "payload", Looks: "what a mode that never gets it is asked for", mode: payloadUnseen},
	{Name: "connections", Looks: "what takes a connection for each request", mode: func(m stream.Mode, c *Cell) error {
		if m.Role == stream.TX || !c.Connects() {
			return nil
		}
		return c.TakesVisits(m)
	}},
	{Name: "then", Looks: "what the application can do with the payload", mode: thenFits},
	{Name: "encryption", Looks: "who encrypts, and by which calls payload is moved", mode: encryptionFits},
	{Name: "memory", Looks: "the kind of the area", mode: areaFits},
	{Name: "engine", Looks: "the io_uring engines that are built in", mode: engineBuiltIn},
	{Name: "send mode", Looks: "the list of modes", run: exists(stream.TX)},
	{Name: "in flight", Looks: "unanswered bytes", mode: unanswered},
	{Name: "segments", Looks: "datagrams of a call", mode: segmentsFit},
	{Name: "polled path", Looks: "loopback", run: ofHosts((*Hosts).polled)},
	{Name: "MTU", Looks: "loopback", run: ofHosts((*Hosts).mtu)},
	{Name: "one machine", Looks: "settings that both ends share", run: ofHosts((*Hosts).shared)},
	{Name: "settings", Looks: "values that no host could have", run: ofHosts((*Hosts).settings)},
	{Name: "placement", Looks: "CPUs and RX queues of the hosts", run: ofHosts((*Hosts).placement)},
}

// CannotRun says why a cell cannot run and what to do about it, from all [rules]; nil: it may. h is
// what the hosts told, nil where none was asked.
func CannotRun(c *Cell, h *Hosts) *Refusal {
	all := c.modes()
	for i := range rules {
		r := &rules[i]
		if r.run != nil {
			if no := r.run(c, h); no != nil {
				return no
			}
			continue
		}
		if err := r.refuses(c, all, all); err != nil {
			return refusal(err, h)
		}
	}
	return nil
}

// refusal makes one of an error. What hosts could run otherwise is blocked.
func refusal(err error, h *Hosts) *Refusal {
	return &Refusal{Reason: err.Error(), Fix: fault.Fix(err), Blocked: h != nil}
}

// refuses asks a rule about the cell, and about the modes of ends.
func (r *rule) refuses(c *Cell, all, ends []stream.Mode) error {
	if r.cell != nil {
		return r.cell(c, all)
	}
	for _, m := range ends {
		if r.mode == nil {
			return nil
		}
		if err := r.mode(m, c); err != nil {
			return err
		}
	}
	return nil
}

// Check refuses what no run could have: values out of range, and what was chosen but
// concerns none of the cell's modes, which would be ignored in silence.
func (c *Cell) Check() error { return c.CheckEnds() }

// CheckEnds refuses as [Cell.Check] does, and also what of the cell's choices the modes of ends
// cannot have together.
func (c *Cell) CheckEnds(ends ...stream.Mode) error {
	all := c.modes()
	for i := range rules {
		if err := rules[i].refuses(c, all, ends); err != nil {
			return err
		}
	}
	return nil
}

func exists(role stream.Role) func(*Cell, *Hosts) *Refusal {
	return func(c *Cell, h *Hosts) *Refusal {
		if _, err := modes.Find(role, c.Mode(role)); err != nil {
			return refusal(err, h)
		}
		return nil
	}
}

func (c *Cell) refuse(option string, err error) error {
	o := LookupOption(option)
	return &OptionError{Option: o, Value: o.Raw(c), Err: err}
}

func oneKind(c *Cell, all []stream.Mode) error {
	if c.OneKind() {
		return nil
	}
	return fmt.Errorf("rx %s carries %s, but tx %s carries %s: choose modes of one kind: with rx %s one of "+
		"tx %s; with tx %s one of rx %s",
		c.RX, all[0].Kind, c.TX, all[1].Kind, c.RX, matching(stream.TX, all[0], all[1]), c.TX,
		matching(stream.RX, all[1], all[0]))
}

// matching lists the modes of a role that carry what m does. If m's partner so far made round
// trips, the modes that make them, too, come first.
func matching(role stream.Role, m, so stream.Mode) string {
	var trips, names []string
	for _, x := range modes.All {
		switch {
		case x.Role != role || x.Kind != m.Kind:
		case x.Has(stream.RoundTrips) && so.Has(stream.RoundTrips):
			trips = append(trips, x.Name)
		default:
			names = append(names, x.Name)
		}
	}
	return strings.Join(append(trips, names...), ", ")
}

func queuesHaveFlows(c *Cell, _ []stream.Mode) error {
	if c.Queues <= c.NFlows() {
		return nil
	}
	return c.refuse("queues", fmt.Errorf("more than the flows (%d), and a queue without a flow has nothing to do: "+
		"use more flows, or fewer queues", c.NFlows()))
}

// steersOneWay refuses to steer one of the flows that a rule has for all of them, to spread the
// flows of a queue over its rings, of which the hash says nothing, and a context over queues of
// which a container has one.
func steersOneWay(c *Cell, _ []stream.Mode) error {
	switch {
	case !c.ByPort():
	case c.SteerTo != nil:
		return c.refuse("steer_queue", errors.New("one rule steers all flows of the port (steer: port): use control: "+
			WrongQueue+", which has the RSS context lead elsewhere, or leave it out"))
	case c.NRings() > 1 && c.takesQueues():
		return c.refuse("queue_rings", errors.New("one rule steers all flows of the port (steer: port), and their "+
			"hash says by which queue each comes, not to which of its rings: use steer: flow, or one ring for each "+
			"queue"))
	case c.LeaseQueue != "":
		return c.refuse("lease_queue", errors.New("one rule steers all flows of the port into an RSS context over the "+
			"NIC's queues (steer: port), and the container has one of them: use steer: flow"))
	}
	return nil
}

func optionsFit(c *Cell, all []stream.Mode) error {
	for i := range Options {
		o := &Options[i]
		v := o.Raw(c)
		if v == "" {
			continue
		}
		var scratch Cell
		if err := o.Set(&scratch, v); err != nil {
			return &OptionError{Option: o, Value: v, Err: err}
		}
		if !o.concernsAny(all) {
			return &OptionError{Option: o, Value: v, Whose: c.modeNames()}
		}
	}
	return nil
}

// CheckRings refuses rings without a flow, what a ring of another process cannot have, and memory
// that cannot grow.
func (c *Cell) CheckRings() error {
	n := c.NQueues() * c.NRings()
	switch {
	case c.RingsIn == RingsProcesses && c.NRings() == 1:
		return refuseRings("rings_in", c.RingsIn, errors.New("the queue has one ring, in the receiver's own process: "+
			"say how many share it (queue_rings)"))
	case c.NRings() > 1 && c.takesQueues() && n > c.NFlows():
		return refuseRings("queue_rings", strconv.Itoa(c.QueueRings),
			fmt.Errorf("%d queues of %d rings need %d flows, "+
				"and there are %d: use more flows, fewer queues (queues), or fewer rings",
				c.NQueues(), c.NRings(), n, c.NFlows()))
	case c.RingsIn != RingsProcesses:
	case c.Area != "" && c.Area != dmabuf.Pages, c.RXBufLen > os.Getpagesize():
		return refuseProcesses("processes share base pages, and no other memory", "use the area "+dmabuf.Pages+
			" and buffers of a page")
	case c.RoundTrips():
		return refuseProcesses("a ring of another process answers no requests", "use another send mode")
	case c.Turn != "" && c.Turn != NoTurns:
		return refuseProcesses("a ring of another process takes no turns", "make the cell alone (turn: none)")
	}
	if c.AreaStart == 0 {
		return nil
	}
	start := strconv.Itoa(c.AreaStart)
	if p, _, err := dmabuf.Find(cmp.Or(c.Area, dmabuf.Pages)); err == nil && p.Pages == nil {
		return refuseRings("area_start", start,
			fmt.Errorf("the kernel takes a dmabuf whole, so memory of kind %q cannot "+
				"grow: use the area %s", c.Area, dmabuf.Pages))
	}
	if c.AreaBytes != 0 && c.AreaStart >= c.AreaBytes {
		return refuseRings("area_start", start, errors.New("the memory is not larger (area_bytes): use a smaller "+
			"beginning, or leave it out"))
	}
	return nil
}

// refuseRings is [Cell.refuse] for what is asked of every cell of a file, which must not be on the
// heap for it.
func refuseRings(option, value string, err error) error {
	return &OptionError{Option: LookupOption(option), Value: value, Err: err}
}

func refuseProcesses(why, fix string) error {
	return refuseRings("rings_in", RingsProcesses, fmt.Errorf("%s: %s, or keep the rings in threads", why, fix))
}

// CheckLossFree refuses to look for a rate of what is never lost, or is no rate of packets.
func (c *Cell) CheckLossFree() error {
	if !c.LossFree || c.MovesPackets() && !c.RoundTrips() {
		return nil
	}
	o := LookupOption("pace")
	m, err := modes.Find(stream.RX, c.RX)
	if err == nil && m.Kind == stream.Stream {
		return &OptionError{Option: o, Value: PaceLossFree,
			Err: fmt.Errorf("rx %s carries a stream, which loses nothing: choose modes that carry packets", c.RX)}
	}
	return &OptionError{Option: o, Value: PaceLossFree,
		Err: errors.New("round trips have no rate at which they lose nothing: use rr_rate")}
}

// packetsFit refuses payloads that no packet has, and requests and answers that no datagram has.
func packetsFit(c *Cell, _ []stream.Mode) error {
	if !c.MovesPackets() {
		return nil
	}
	outside := func(n int) bool { return n != 0 && (n < stream.MinDatagramBytes || n > stream.MaxDatagramBytes) }
	if outside(c.MessageBytes) {
		return c.refuse("message", fmt.Errorf("a packet's payload has %d..%d bytes", stream.MinDatagramBytes,
			stream.MaxDatagramBytes))
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"request", c.Request}, {"response", c.Response}} {
		if c.RoundTrips() && outside(x.n) {
			return c.refuse(x.name, fmt.Errorf("a datagram has %d..%d bytes", stream.MinDatagramBytes,
				stream.MaxDatagramBytes))
		}
	}
	return nil
}

// oneXSKFlow refuses several flows where a program of each would want the interface for itself: it
// has one, and one socket of AF_XDP for each of its queues.
func oneXSKFlow(c *Cell, all []stream.Mode) error {
	i := slices.IndexFunc(all, func(m stream.Mode) bool { return m.Has(stream.AFXDP) })
	if i < 0 || c.NFlows() == 1 {
		return nil
	}
	return c.refuse("flows", fmt.Errorf("%s takes a whole interface for one flow, its XDP program and a socket of "+
		"AF_XDP for each queue: use one flow", all[i].Name))
}

// swapMACs is the touch that addresses frames to their sender.
const swapMACs = "swap-macs"

func framesFit(c *Cell, all []stream.Mode) error {
	switch {
	case len(all) == 0 || all[0].Kind != stream.Frame:
	case c.MessageBytes > stream.MaxFramePayload:
		return c.refuse("message", fmt.Errorf("a generated frame's payload has %d..%d bytes", stream.MinDatagramBytes,
			stream.MaxFramePayload))
	case c.XDPTouch != "" && c.XDPTouch != swapMACs && c.sendsBack(all[0]):
		return c.refuse("xdp_touch", errors.New("frames sent back must be addressed to their sender: use "+swapMACs+
			", or leave it out"))
	case c.NFlows() > 1:
		return c.refuse("flows", errors.New(
			"an XDP program gets all frames of an interface: use one flow, and several 5-tuples (tuples)"))
	}
	return nil
}

// streamProbes look at TCP, or at what zero copy does.
var streamProbes = []string{"latency", "zc", ProbeTCP}

func probesFit(c *Cell, _ []stream.Mode) error {
	for _, name := range c.Probes() {
		if c.MovesPackets() && slices.Contains(streamProbes, name) {
			return c.refuse("probe", fmt.Errorf("%s applies to TCP, but %s: leave it out", name, c.modeNames()))
		}
	}
	return nil
}

func payloadUnseen(m stream.Mode, c *Cell) error {
	switch {
	case m.Role == stream.TX || !m.Has(stream.NoPayload):
	case c.RoundTrips():
		return fmt.Errorf("%s never sees the payload of a request, so it cannot answer: choose another receive "+
			"mode, or a send mode other than %s", m.Name, c.TX)
	case c.Touch != "" && c.Touch != string(stream.TouchNone):
		return fmt.Errorf("%s never gets the payload, so touch %q is impossible; use --touch none", m.Name, c.Touch)
	}
	return nil
}

// TakesVisits refuses what cannot be where each request has a connection of its own
// ([stream.Visits]): a receive mode that takes no such, and choices of the flow's connection. A
// mode that takes a queue over has all that comes to the flow's port steered there.
func (c *Cell) TakesVisits(m stream.Mode) error {
	const other = "use rx tcp, or tx rr: requests on open connections"
	steers := m.Has(stream.Accepts) && m.TakesQueue()
	switch {
	case steers && c.TX != "" && c.Steer != SteerPort:
		return &fault.Error{Op: m.Name + " steers each flow to its queue by a rule of both ports, which the next " +
			"connection does not match", How: "use steer: port, which has a rule for the flow's port; or " + other}
	case steers && c.TX == "" && c.Steer == SteerPort: // one rule was made before the sender said what it does
		return &fault.Error{Op: "steer: port has one rule for the port of all flows, and requests that connect have " +
			"ports of their own", How: "leave it out"}
	case steers && c.NFlows() > c.NQueues():
		return c.refuse("queues", fmt.Errorf("each flow's connections come to one ring, which serves no other flow: "+
			"use as many queues as flows (%d), or one flow with more in flight (in_flight)", c.NFlows()))
	case m.Has(stream.Accepts):
		return c.visited(steers)
	}
	return &fault.Error{Op: m.Name + " receives one connection, and takes no others", How: other}
}

// visited refuses what means nothing where each request has a connection of its own.
func (c *Cell) visited(steers bool) error {
	none := []string{"steer", "queue", "queues", "read", "gather"}
	if steers {
		none = []string{"read", "gather", "hold", "queue_rings", "area_start"}
	}
	for _, name := range none {
		if o := LookupOption(name); o.Raw(c) != "" {
			why := "a request is read at once, and as it comes"
			switch {
			case o.Places && steers:
				why = "each flow's connections come to one ring"
			case o.Places:
				why = "no rule steers the flow's connections"
			case name == "area_start":
				why = "it has as much in flight as connections have"
			}
			return c.refuse(name, fmt.Errorf("with a connection for each request it means nothing: %s: leave it out",
				why))
		}
	}
	for _, name := range c.Probes() {
		if slices.Contains(streamProbes, name) {
			return c.refuse("probe", fmt.Errorf("%s looks at a flow's own connection, and each request has another: "+
				"leave it out", name))
		}
	}
	return nil
}

func areaFits(m stream.Mode, c *Cell) error {
	area := c.Area
	if m.Role == stream.TX {
		area = c.TXArea
	}
	if area == "" || !m.Has(stream.UsesNICQueue) && !m.Has(stream.DMABuf) {
		return nil
	}
	p, _, err := dmabuf.Find(area)
	switch {
	case err != nil:
		return err
	case m.Has(stream.DMABuf) && p.Open == nil:
		return fmt.Errorf("%s cannot use memory of kind %q; its kinds are %s", m.Name, area,
			strings.Join(dmabuf.Names(dmabuf.Exports), ", "))
	case !m.Has(stream.DMABuf) && !m.Has(stream.NeedsDev) && p.Pages == nil:
		return fmt.Errorf("%s has no NIC that could write into a dmabuf: leave out the area %q", m.Name, area)
	}
	return nil
}

func engineBuiltIn(_ stream.Mode, c *Cell) error {
	if err := uring.Engine(c.UringEngine).Check(); err != nil {
		return c.refuse("uring_engine", err)
	}
	return nil
}

func unanswered(m stream.Mode, c *Cell) error {
	if m.Has(stream.RoundTrips) && max(c.Request, 1)*max(c.InFlight, 1) > stream.MaxUnanswered {
		return fmt.Errorf("%d requests of %d bytes in flight exceed %d bytes: use smaller or fewer requests",
			c.InFlight, c.Request, stream.MaxUnanswered)
	}
	return nil
}

func segmentsFit(m stream.Mode, c *Cell) error {
	if m.Has(stream.Segments) && c.UDPBatch == 1 {
		return fmt.Errorf("%s with one call per datagram has nothing to segment: use the mode udp", m.Name)
	}
	return nil
}

// CheckRequests refuses round trips at a rate that leaves flows without a request in a window:
// these would move nothing, and the run be invalid. A window of 0 is not known yet.
func (c *Cell) CheckRequests(window time.Duration) error {
	flows, most := c.NFlows(), int(float64(c.RRRate)*window.Seconds())
	if !c.RoundTrips() || c.RRRate == 0 || window <= 0 || most >= flows {
		return nil
	}
	o := LookupOption("rr_rate")
	enough := int(math.Ceil(float64(flows) / window.Seconds()))
	longer := time.Duration(math.Ceil(float64(flows)/float64(c.RRRate)*1e3)) * time.Millisecond
	fix := fmt.Sprintf("ask for %d or more, or measure for %v or longer", enough, longer)
	if most > 0 {
		fix += fmt.Sprintf(", or use at most %d flows", most)
	}
	return &OptionError{Option: o, Value: o.Raw(c),
		Err: fmt.Errorf("%d requests are due in %v, of all flows together, and each of %d flows needs one: %s", most,
			window, flows, fix)}
}
