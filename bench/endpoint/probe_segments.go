// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// wholeFlow is what the probe drops and the flows' sockets told of all that flowed: the window's
// edges would cut segments off that are under way, of which each end has others.
type wholeFlow struct {
	before, after dropReading
	sockets       []counter.TCPInfo
	known         bool
}

// openFlow reads the drops before there is a flow.
func (p *probes) openFlow() (err error) {
	if p.Drops != nil {
		p.whole.before, err = readDrops(p.Drops)
	}
	return err
}

// endFlow reads them, and the sockets, when all flows have ended: their payload was confirmed.
func (p *probes) endFlow(sockets []int) {
	if p == nil || p.Drops == nil || len(sockets) == 0 {
		return
	}
	var err error
	if p.whole.after, err = readDrops(p.Drops); err != nil {
		return
	}
	for _, fd := range sockets {
		info, err := counter.ReadTCPInfo(fd)
		if err != nil {
			return
		}
		p.whole.sockets = append(p.whole.sockets, info)
	}
	p.whole.known = true
}

// longestPacket is how many bytes GSO and GRO put into a packet at most (BIG TCP: GRO_MAX_SIZE).
const longestPacket = 8 * 65535

// segments computes the end's part of the account of the flow's segments; nil: it is not known.
func (p *probes) segments(sends bool) *results.DropSegments {
	if p == nil || p.Drops == nil || !p.whole.known || p.port == 0 {
		return nil
	}
	t, err := p.Drops.Named(p.whole.after.seen.Sub(p.whole.before.seen))
	if err != nil || t.Warning != "" {
		return nil
	}
	from, to := p.whole.before.counted, p.whole.after.counted
	way := ledger.Way{Sends: sends, Counted: ledger.Between(from, to), Refused: ledger.Refused(from, to)}
	return segmentsOf(t, way, p.whole.sockets, p.port)
}

func segmentsOf(t bpf.DropTable, way ledger.Way, sockets []counter.TCPInfo, port uint16) *results.DropSegments {
	sum := func(name string) *float64 {
		all := 0.0
		for i := range sockets {
			v, ok := sockets[i].Get(name)
			if !ok {
				return nil
			}
			all += float64(v)
		}
		return &all
	}
	out, mss := &results.DropSegments{}, "rcv_mss"
	if way.Sends {
		mss = "snd_mss"
		out.Sent, out.Retransmitted = sum("data_segs_out"), sum("total_retrans")
	} else {
		out.Received = sum("data_segs_in")
	}
	way.Unnamed, way.MaxSegments = t.Unnamed, longestPacket
	if v, ok := sockets[0].Get(mss); ok && v > 0 {
		way.MaxSegments = longestPacket/v + 1
	}
	for _, d := range t.Drops {
		if d.NotLost != "" {
			continue
		}
		one := ledger.Drop{Reason: d.Reason, Function: d.Function, Packets: d.Packets, SKBs: d.SKBs}
		if d.Port == port {
			way.Flow = append(way.Flow, one)
		} else {
			way.Others = append(way.Others, one)
		}
	}
	l := way.Lost()
	out.NamedLeast, out.NamedMost = new(float64(l.Least)), new(float64(l.Most))
	if way.Sends {
		out.Refused, out.RefusedMost = new(float64(l.Refused)), new(float64(l.RefusedMost))
	} else {
		out.Backlog = new(float64(l.Backlog))
	}
	return out
}

// addSegments adds them to what the drops of the window are.
func (r *run) addSegments(h *results.Host) {
	if h.Probes == nil || h.Probes.Drops == nil || r.died != nil || r.left > 0 {
		return
	}
	h.Probes.Drops.Segments = r.end.probes.segments(r.end.spec.Role == stream.TX)
}
