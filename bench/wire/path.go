// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"fmt"
	"math"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Requests about interfaces of a path that packets are followed along.
const (
	OpPathOpen Op = "path-open" // PathParams -> PathOpened; instead of those that were opened before
	OpPathRead Op = "path-read" // nothing -> PathReading; of those that are open
)

// PathParams names interfaces of the agent's namespace; none: it lets go of those that it has.
type PathParams struct {
	Places []PathPlace `json:"places,omitempty"`
}

// PathPlace is an interface, with its place in the user's list for what is wrong with it.
type PathPlace struct {
	Host string `json:"host"`
	Dev  string `json:"dev"`
	Item int    `json:"item"`
	At   int    `json:"at"`
}

// PathOf asks for places of one host.
func PathOf(places []hops.Place) (p PathParams) {
	for _, x := range places {
		p.Places = append(p.Places, PathPlace{x.Host, x.Dev, x.Item, x.At})
	}
	return p
}

// Here converts the places to the agent's view: in its own namespace.
func (p *PathParams) Here() (out []hops.Place) {
	for _, x := range p.Places {
		out = append(out, hops.Place{Host: x.Host, Dev: x.Dev, Item: x.Item, At: x.At})
	}
	return out
}

// PathOpened are the interfaces that were named, in their order.
type PathOpened struct {
	Hops []pathHop `json:"hops"`
}

// pathHop is what the kernel says of an interface; see [rtnl.Link].
type pathHop struct {
	Index     int    `json:"index"`
	Kind      string `json:"kind,omitempty"`
	Master    int    `json:"master,omitempty"`
	Lower     int    `json:"lower,omitempty"`
	Peer      int    `json:"peer,omitempty"`
	PeerNetns int    `json:"peer_netns,omitempty"` // -1: the same
}

// PathReading is the counters of the interfaces, and what else tells of packets on their way.
type PathReading struct {
	Hops         []pathCounts `json:"hops"`
	Backlog      uint64       `json:"backlog"`
	BacklogKnown bool         `json:"backlog_known,omitempty"`
	Processed    []pathCPU    `json:"processed,omitempty"`
}

// pathCounts are an interface's counters, read there and back.
type pathCounts struct {
	First      pathStats `json:"first"`
	Again      pathStats `json:"again"`
	QdiscDrops uint64    `json:"qdisc_drops"`
	QLen       uint64    `json:"qlen"`
	Qdisc      uint64    `json:"qdisc"` // its handle
}

// pathStats are the counters that paths compare.
type pathStats struct {
	RxPackets      uint64 `json:"rx_packets"`
	TxPackets      uint64 `json:"tx_packets"`
	RxBytes        uint64 `json:"rx_bytes"`
	TxBytes        uint64 `json:"tx_bytes"`
	RxErrors       uint64 `json:"rx_errors"`
	TxErrors       uint64 `json:"tx_errors"`
	RxDropped      uint64 `json:"rx_dropped"`
	TxDropped      uint64 `json:"tx_dropped"`
	RxMissedErrors uint64 `json:"rx_missed_errors"`
	RxNohandler    uint64 `json:"rx_nohandler"`
}

// pathCPU is how many packets a CPU has received, at 32 bits.
type pathCPU struct {
	CPU     int    `json:"cpu"`
	Packets uint64 `json:"packets"`
}

// PathOpenedOf encodes hops for the controller.
func PathOpenedOf(all []hops.Hop) (o PathOpened) {
	for _, h := range all {
		o.Hops = append(o.Hops, pathHop{h.Index, h.Kind, h.Master, h.Lower, h.Peer, h.PeerNetns})
	}
	return o
}

// Found decodes the hops, without their places.
func (o *PathOpened) Found() (all []hops.Hop) {
	for _, h := range o.Hops {
		all = append(all, hops.Hop{Index: h.Index, Kind: h.Kind, Master: h.Master, Lower: h.Lower, Peer: h.Peer,
			PeerNetns: h.PeerNetns})
	}
	return all
}

// PathReadingOf encodes a reading for the controller.
func PathReadingOf(r *hops.Reading) (out PathReading) {
	out.Backlog, out.BacklogKnown = r.Backlog, r.BacklogKnown
	for _, c := range r.Hops {
		out.Hops = append(out.Hops, pathCounts{statsOf(&c.Stats), statsOf(&c.Again), c.QdiscDrops, c.QLen,
			uint64(c.Qdisc)})
	}
	for cpu, n := range r.Processed {
		out.Processed = append(out.Processed, pathCPU{int(cpu), uint64(n)})
	}
	return out
}

// Reading decodes a reading that has been checked.
func (r *PathReading) Reading() (out hops.Reading) {
	out.Backlog, out.BacklogKnown = r.Backlog, r.BacklogKnown
	for i := range r.Hops {
		c := &r.Hops[i]
		out.Hops = append(out.Hops, hops.Counts{Stats: c.First.stats(), Again: c.Again.stats(),
			QdiscDrops: c.QdiscDrops, QLen: c.QLen, Qdisc: uint32(c.Qdisc)})
	}
	out.Processed = make(map[uint32]uint32, len(r.Processed))
	for _, c := range r.Processed {
		out.Processed[uint32(c.CPU)] = uint32(c.Packets)
	}
	return out
}

func statsOf(s *rtnl.Stats) pathStats {
	return pathStats{s.RxPackets, s.TxPackets, s.RxBytes, s.TxBytes, s.RxErrors, s.TxErrors, s.RxDropped, s.TxDropped,
		s.RxMissedErrors, s.RxNohandler}
}

func (s *pathStats) stats() rtnl.Stats {
	return rtnl.Stats{RxPackets: s.RxPackets, TxPackets: s.TxPackets, RxBytes: s.RxBytes, TxBytes: s.TxBytes,
		RxErrors: s.RxErrors, TxErrors: s.TxErrors,
		RxDropped: s.RxDropped, TxDropped: s.TxDropped, RxMissedErrors: s.RxMissedErrors, RxNohandler: s.RxNohandler}
}

// Bounds of what an interface counts.
const (
	mostHops    = 64
	mostCounted = uint64(1) << 60 // packets: sums of some of them stay what they are
	mostBytes   = uint64(math.MaxInt64)
	mostWaiting = uint64(1) << 40 // packets in queues
)

// pathKind is a kind of interface as the kernel's drivers name them.
var pathKind = lazy.Regexp(`^[a-z0-9_-]{0,32}$`)

// Check refuses interfaces that Linux would not have.
func (o *PathOpened) Check() error {
	if len(o.Hops) > mostHops {
		return fmt.Errorf("%d interfaces", len(o.Hops))
	}
	for i, h := range o.Hops {
		least := min(h.Index-1, h.Master, h.Lower, h.Peer, h.PeerNetns+1)
		if least < 0 || max(h.Index, h.Master, h.Lower, h.Peer, h.PeerNetns) > math.MaxInt32 {
			return fmt.Errorf("interface %d: an index that none has", i+1)
		}
		if !pathKind().MatchString(h.Kind) {
			return fmt.Errorf("interface %d: kind %q", i+1, h.Kind)
		}
	}
	return nil
}

// Check refuses what no interface counts.
func (r *PathReading) Check() error {
	if len(r.Hops) > mostHops {
		return fmt.Errorf("%d interfaces", len(r.Hops))
	}
	if r.Backlog > mostWaiting {
		return fmt.Errorf("a backlog of %d packets", r.Backlog)
	}
	for i := range r.Hops {
		c := &r.Hops[i]
		if err := errors.Join(c.First.check(), c.Again.check()); err != nil {
			return fmt.Errorf("interface %d: %w", i+1, err)
		}
		if c.QdiscDrops > mostCounted || c.QLen > mostWaiting || c.Qdisc > math.MaxUint32 {
			return fmt.Errorf("interface %d: queueing discipline %x with %d packets, and %d drops", i+1, c.Qdisc,
				c.QLen, c.QdiscDrops)
		}
	}
	cpus := make([]int, 0, len(r.Processed))
	for _, c := range r.Processed {
		if c.Packets > math.MaxUint32 {
			return fmt.Errorf("processed: %d packets", c.Packets)
		}
		cpus = append(cpus, c.CPU)
	}
	return checkCPUs("processed", cpus)
}

func (s *pathStats) check() error {
	for _, n := range []uint64{s.RxPackets, s.TxPackets, s.RxErrors, s.TxErrors, s.RxDropped, s.TxDropped,
		s.RxMissedErrors, s.RxNohandler} {
		if n > mostCounted {
			return fmt.Errorf("a counter of %d", n)
		}
	}
	if b := max(s.RxBytes, s.TxBytes); b > mostBytes {
		return fmt.Errorf("%d bytes", b)
	}
	return nil
}
