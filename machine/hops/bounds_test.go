// SPDX-License-Identifier: MIT

package hops

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Readings in the midst of traffic, of which between two readings of a counter nothing or very much
// passes: what was really lost is always within the bounds, in both directions, and for veth the
// bounds are as narrow as what passed while the two were read.
func TestBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := func() uint64 { return uint64(rng.IntN(3) * rng.IntN(400)) }
	beyond := 0
	for try := range 2000 {
		kind, r := "veth", Wire
		if try%2 == 1 {
			kind, r = "vlan", Across // of a NIC a whole poll may be on its way
		}
		p := &Path{Hops: []Hop{{Place: Place{Dev: "a"}, Kind: kind}, {Place: Place{Dev: "b"}, Kind: kind}},
			Links: []Link{{0, 1, r, true}}}
		// What one and the other counted, in each direction, what of it waits, and what was lost.
		var a, b rtnl.Stats
		var waits, backlog, hand, lost [2]uint64
		out, in := [2]*uint64{&a.TxPackets, &b.TxPackets}, [2]*uint64{&b.RxPackets, &a.RxPackets}
		if r == Across {
			out, in = [2]*uint64{&a.RxPackets, &b.RxPackets}, [2]*uint64{&b.TxPackets, &a.TxPackets}
		}
		pass := func(loses bool) {
			for way := range 2 {
				n := some()
				*out[way] += n
				if loses && n > 0 && rng.IntN(2) == 0 {
					lost[way], n = lost[way]+n/2, n-n/2
				}
				if r == Wire {
					*in[way] += n
					continue
				}
				backlog[way] += n
				n = rng.Uint64N(backlog[way] + 1)
				backlog[way], waits[way] = backlog[way]-n, waits[way]+hand[way]+n
				hand[way] = min(waits[way], rng.Uint64N(2)) // each way by a CPU of its own
				waits[way] -= hand[way]
				n = rng.Uint64N(waits[way] + 1)
				waits[way], *in[way] = waits[way]-n, *in[way]+n
			}
		}
		read := func() (out Reading) {
			out.Hops = make([]Counts, 2)
			out.Hops[0].Stats = a
			pass(false)
			out.Hops[1].Stats = b
			pass(false)
			if r == Across {
				out.Backlog, out.BacklogKnown = backlog[0]+backlog[1]+some(), true
				out.Processed = map[uint32]uint32{0: rng.Uint32(), 1: rng.Uint32()}
				pass(false)
				out.Hops[0].QLen, out.Hops[1].QLen = waits[1], waits[0]
				pass(false)
			}
			out.Hops[1].Again = b
			pass(false)
			out.Hops[0].Again = a
			return out
		}
		pass(true)
		from := read()
		was := lost
		for range 3 {
			pass(true)
		}
		to := read()
		to.AtNs = 1e9
		d := p.Between(from, to, Seen{})
		for way := range d.Crossings {
			c := &d.Crossings[way]
			really := int64(lost[way] - was[way])
			if really < c.LostLeast || really > c.LostMost || c.UntoldLeast != c.LostLeast ||
				c.UntoldMost != c.LostMost {
				t.Fatalf("try %d, %s: %d were lost: %+v", try, p.Name(c), really, c)
			}
			if r == Wire && (c.LostMost-c.LostLeast != int64(c.Skew) || c.Lost() < c.LostLeast ||
				c.Lost() > c.LostMost) {
				t.Fatalf("try %d, %s: %+v", try, p.Name(c), c)
			}
			if c.LostLeast > 0 {
				beyond++
			}
		}
	}
	if beyond < 100 {
		t.Errorf("a loss beyond the bounds was seen %d times only", beyond)
	}
}

// What a counter of losses grew by while it was read, and what was seen to be dropped before and
// after the counters were read, is no loss that nobody tells.
func TestBoundsOfTheUntold(t *testing.T) {
	p := &Path{Hops: []Hop{{Place: Place{Dev: "a"}}, {Place: Place{Dev: "v"}, Kind: "veth"}},
		Links: []Link{{0, 1, Across, false}}}
	from, to := Reading{Hops: make([]Counts, 2)}, Reading{AtNs: 1e9, Hops: make([]Counts, 2)}
	to.Hops[0].Stats = rtnl.Stats{RxPackets: 1000, RxDropped: 10}
	to.Hops[1].Stats = rtnl.Stats{TxPackets: 800}
	again(to)
	to.Hops[0].Again.RxDropped = 17
	of := func(n uint64) DropsOf {
		return func(h *Hop, sends bool) []ledger.Drop {
			if h.Dev != "a" || sends {
				return nil
			}
			return []ledger.Drop{{Reason: "NETFILTER_DROP", Packets: n, SKBs: n}}
		}
	}
	c := p.Between(from, to, Seen{of(150), of(140), of(155)}).Crossings[0]
	if c.LostLeast != 200-pollWeight || c.LostMost != 200+pollWeight || c.UntoldLeast != 200-pollWeight-10-7-155 ||
		c.UntoldMost != 200+pollWeight-10+7-140 {
		t.Errorf("%+v", c)
	}
	if w := strings.Join(c.Unknown, "; "); !strings.Contains(w, "the ring of v's other end") ||
		!strings.Contains(w, "the CPUs' backlogs") {
		t.Error(w)
	}
	if w := p.Between(from, to, Seen{}).Crossings[1].Unknown; len(w) != 2 || w[0] != "the transmit ring of a" {
		t.Error(w)
	}
}

// What CPUs have in hand: of a veth's packets one each, of a NIC's a poll's, where one of 4 CPUs
// processed some; of what goes down any CPU may send; a cable has a ring instead.
func TestInHand(t *testing.T) {
	from := Reading{Stack: Stack{Processed: map[uint32]uint32{0: 5, 1: 5, 2: 5, 3: 5}}}
	to := Reading{Stack: Stack{Processed: map[uint32]uint32{0: 5, 1: 9, 2: 5, 3: 5}}}
	for _, x := range []struct {
		kind, left string
		r          relation
		want       uint64
	}{
		{"veth", "rx", Across, 1}, {"veth", "rx", up, 1}, {"", "rx", Across, pollWeight}, {"vlan", "tx", down, 4},
		{"", "tx", Wire, 0}, {"veth", "tx", Wire, 0},
	} {
		p := &Path{Hops: []Hop{{Kind: x.kind}, {}}}
		if got := p.inHand(&Crossing{To: 1, Left: x.left}, x.r, &from, &to); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
		if got := p.inHand(&Crossing{To: 1, Left: x.left}, x.r, &Reading{}, &Reading{}); got == 0 && x.want > 0 {
			t.Errorf("%+v: none where nothing is known", x)
		}
	}
}
