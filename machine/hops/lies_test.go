// SPDX-License-Identifier: MIT

package hops

import (
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// liar is a host that says of its interface whatever it likes, within what an agent's answer may
// have (bench/wire).
type liar struct {
	rng  *rand.Rand
	last rtnl.Stats
}

func (l *liar) Open(places []Place) ([]Hop, error) {
	kind := []string{"", "veth", "vlan", "bond", "bridge"}[l.rng.IntN(5)]
	return []Hop{{Index: l.rng.IntN(3), Kind: kind, Master: l.rng.IntN(3), Lower: l.rng.IntN(3), Peer: l.rng.IntN(3),
		PeerNetns: l.rng.IntN(3) - 1}}, nil
}
func (l *liar) Inode() uint64 { return 0 }
func (l *liar) Close() error  { return nil }

func (l *liar) Read() (r Reading, err error) {
	number := func() uint64 { return []uint64{0, 1, 1<<32 - 1, 1 << 57, l.rng.Uint64N(1 << 57)}[l.rng.IntN(5)] }
	stats := func() rtnl.Stats { // most counters that fall are seen to have been reset
		s := &l.last
		for _, n := range []*uint64{&s.RxPackets, &s.TxPackets, &s.RxBytes, &s.TxBytes, &s.RxErrors, &s.TxErrors,
			&s.RxDropped, &s.TxDropped, &s.RxMissedErrors, &s.RxNohandler} {
			*n += number()
		}
		if l.rng.IntN(30) == 0 {
			s.RxDropped, s.TxPackets = number(), number()
		}
		return *s
	}
	r.Hops = []Counts{{Stats: stats(), Again: stats(), QdiscDrops: number(), QLen: number() >> 20,
		Qdisc: uint32(l.rng.IntN(2))}}
	r.Backlog, r.BacklogKnown = number()>>20, l.rng.IntN(2) == 0
	r.Processed = map[uint32]uint32{}
	for range l.rng.IntN(3) {
		r.Processed[l.rng.Uint32()] = l.rng.Uint32()
	}
	return r, nil
}

// Readers that lie get figures that are in order, or none: the counters fell.
func TestLyingReaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	figures := 0
	for range 5_000 {
		w := &world{rng: rng}
		p := w.open(t, &liar{rng: rng}, &liar{rng: rng})
		from, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		to, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		to.AtNs = from.AtNs + 1e9
		d := p.Between(from, to, Seen{})
		for i := range d.Crossings {
			c := &d.Crossings[i]
			if d.Hops[c.From].Reset || d.Hops[c.To].Reset {
				continue
			}
			figures++
			if c.LostLeast > c.LostMost || c.UntoldLeast > c.UntoldMost || c.Skew > 1<<62 {
				t.Fatalf("%s: %+v", p.Name(c), c)
			}
		}
	}
	if figures < 100 {
		t.Errorf("%d figures only", figures)
	}
}
