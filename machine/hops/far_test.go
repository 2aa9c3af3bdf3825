// SPDX-License-Identifier: MIT

package hops

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// world is two hosts with a cable between them. Packets pass in both directions whenever anything
// else happens: while an answer is on its way, and between two counters.
type world struct {
	sync.Mutex
	rng  *rand.Rand
	at   [2]rtnl.Stats
	lost [2]uint64
}

func (w *world) pass(loses bool) {
	for way := range 2 {
		n := uint64(w.rng.IntN(3) * w.rng.IntN(5000))
		w.at[way].TxPackets += n
		if loses && w.rng.IntN(2) == 0 {
			w.lost[way], n = w.lost[way]+n/2, n-n/2
		}
		w.at[1-way].RxPackets += n
	}
}

// host is one end of the cable, which reads its interface when it is asked, or long after.
type worldHost struct {
	*world
	end   int
	inode uint64
	err   error
	tells int // interfaces too many
}

func (h *worldHost) Open(places []Place) ([]Hop, error) {
	return make([]Hop, len(places)+h.tells), h.err
}
func (h *worldHost) Inode() uint64 { return h.inode }
func (h *worldHost) Close() error  { return nil }

func (h *worldHost) Read() (r Reading, err error) {
	h.Lock()
	defer h.Unlock()
	for range h.rng.IntN(3) { // on its way
		h.pass(false)
	}
	r.Hops = make([]Counts, 1)
	r.Hops[0].Stats = h.at[h.end]
	h.pass(false)
	r.Hops[0].Again = h.at[h.end]
	for range h.rng.IntN(3) {
		h.pass(false)
	}
	return r, h.err
}

// open is a path from the one end to the other, each with its reader.
func (w *world) open(t *testing.T, a, b Far) *Path {
	t.Helper()
	places, err := ifpath.ParseRun("tg:eth0,sut:eth0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := OpenFar(places, nil, func(name string) Far { return map[string]Far{"tg": a, "sut": b}[name] })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Two hosts that read whenever their answers get through: what was really lost is within the
// bounds in both directions, whatever passed between the two readings. The counters themselves
// differ by thousands where nothing was lost.
func TestFarBoundsHold(t *testing.T) {
	w := &world{rng: rand.New(rand.NewPCG(3, 4))}
	p := w.open(t, &worldHost{world: w}, &worldHost{world: w, end: 1})
	if len(p.Links) != 1 || p.Links[0] != (Link{0, 1, Wire, false}) {
		t.Fatalf("%+v", p.Links)
	}
	beyond := w.holds(t, p, p.Read)
	if beyond < 100 {
		t.Errorf("a loss beyond the bounds was seen %d times only", beyond)
	}
}

// So it is where one of the two is here.
func TestFarBoundsHoldBesideOurs(t *testing.T) {
	for _, here := range []int{0, 1} {
		w := &world{rng: rand.New(rand.NewPCG(5, uint64(here)))}
		far := &worldHost{world: w, end: 1 - here}
		p := w.open(t, &worldHost{world: w}, &worldHost{world: w, end: 1})
		p.Hops[here].reader, p.Hops[1-here].reader = 0, 1
		p.far = []farHops{{far, []int{1 - here}}}
		beyond := w.holds(t, p, func() (Reading, error) {
			first, _ := p.askFar()
			ours, _ := (&worldHost{world: w, end: here}).Read()
			again, _ := p.askFar()
			r := Reading{Hops: make([]Counts, 2)}
			r.Hops[here] = ours.Hops[0]
			p.join(&r, first, again)
			return r, nil
		})
		if beyond < 100 {
			t.Errorf("a loss beyond the bounds was seen %d times only", beyond)
		}
	}
}

func (w *world) holds(t *testing.T, p *Path, read func() (Reading, error)) (beyond int) {
	t.Helper()
	skewed := 0
	for try := range 1000 {
		w.pass(true)
		from, err := read()
		was := w.lost
		for range 1 + 60*w.rng.IntN(2) {
			w.pass(try%3 > 0)
		}
		lost := w.lost
		to, rerr := read()
		if err := errors.Join(err, rerr); err != nil {
			t.Fatal(err)
		}
		d := p.Between(from, to, Seen{})
		for way := range d.Crossings {
			c, really := &d.Crossings[way], int64(lost[way]-was[way])
			if really < c.LostLeast || really > c.LostMost || c.LostMost-c.LostLeast != int64(c.Skew) ||
				c.Lost() < c.LostLeast || c.Lost() > c.LostMost || d.Hops[0].Reset || d.Hops[1].Reset {
				t.Fatalf("try %d, %s: %d were lost: %+v", try, p.Name(c), really, c)
			}
			if c.LostLeast > 0 {
				beyond++
			}
			if really == 0 && c.Lost() > 1000 {
				skewed++
			}
		}
	}
	if skewed < 20 {
		t.Errorf("readings of two moments looked like a loss %d times only", skewed)
	}
	return beyond
}

// Between two hops of a far host nothing is taken from the longer reading: their counters, its
// CPUs' backlog and its queueing disciplines are of one moment. Only what is between it and
// another host has what passed meanwhile.
func TestFarNeighbours(t *testing.T) {
	f := &worldHost{}
	p := &Path{Hops: []Hop{{Place: Place{Host: "tg", Dev: "p1"}, Index: 1, Kind: "veth", reader: 1},
		{Place: Place{Host: "tg", Dev: "p2"}, Index: 2, Kind: "veth", reader: 1}, {Place: Place{Dev: "p3"}, Index: 3,
			Kind: "veth"}},
		far: []farHops{{f, []int{0, 1}}}}
	p.Links = links(p.Hops)
	if !slices.Equal(p.Links, []Link{{0, 1, Across, false}, {1, 2, Wire, false}}) {
		t.Fatalf("%+v", p.Links)
	}
	hop := func(rx, tx uint64) Counts {
		s := rtnl.Stats{RxPackets: rx, TxPackets: tx}
		return Counts{Stats: s, Again: s}
	}
	edge := func(base, backlog uint64) Reading {
		first := Reading{Hops: []Counts{hop(base, 0), hop(0, base-backlog)},
			Stack: Stack{Backlog: backlog, BacklogKnown: true, Processed: map[uint32]uint32{1: uint32(base)}}}
		first.Hops[1].QLen = 2
		first.Hops[0].RxDropped, first.Hops[0].Again.RxDropped = base/100, base/100
		again := Reading{Hops: []Counts{hop(base+300, 0), hop(0, base+300)},
			Stack: Stack{Backlog: 99, BacklogKnown: true}}
		r := Reading{Hops: []Counts{{}, {}, hop(base+100, 0)}, Stack: Stack{Backlog: 1 << 30}}
		p.join(&r, []Reading{first}, []Reading{again})
		return r
	}
	d := p.Between(edge(1000, 0), edge(5000, 7), Seen{})
	c := &d.Crossings[0] // 7 did not come out: 7 are in the backlog, and 1 can be in hand
	if c.Skew != 0 || c.End.Backlog != 7 || c.End.InHand != 1 || c.End.Qdisc != 2 || c.LostLeast != -1 ||
		c.LostMost != 7+1 || len(c.Unknown) != 1 {
		t.Errorf("%+v", c)
	}
	c = &d.Crossings[1]
	if c.Skew != 600+7 || c.LostLeast > 0 || c.LostMost < 0 ||
		!slices.Equal(c.Unknown, []string{"what is between tg:p2 and p3"}) {
		t.Errorf("%+v", c)
	}
	// p1's other end is not in the path: what p1 tells it dropped may be the other's.
	if r := d.Crossings[0].Account.Rows; len(r) != 0 {
		t.Errorf("%+v", r)
	}
	from, to := edge(1000, 0), edge(5000, 0)
	to.far.wide[1].Again.TxPackets = 4000
	if d := p.Between(from, to, Seen{}); !d.Hops[1].Reset || d.Hops[0].Reset || d.Hops[2].Reset {
		t.Errorf("a counter fell between two readings: %+v", d.Hops)
	}
}

// A far host that cannot, or that tells of something else, is an error; and so is a hop that this
// process reads in a namespace that another one does.
func TestFarRefused(t *testing.T) {
	w := &world{rng: rand.New(rand.NewPCG(1, 1))}
	far := &worldHost{world: w}
	open := func(list string, f *worldHost) (*Path, error) {
		places, err := ifpath.ParseRun(list)
		if err != nil {
			t.Fatal(err)
		}
		return OpenFar(places, func(string) (*veth.Netns, error) { return nil, errors.New("no such namespace") },
			func(name string) Far {
				if name == "tg" {
					return f
				}
				return nil
			})
	}
	p, err := open("lo,tg:eth0", far)
	if err != nil {
		t.Fatal(err)
	}
	inode := p.Hops[0].Inode
	if err := p.Close(); err != nil || inode == 0 || p.Hops[1].reader != 1 {
		t.Fatal(err, inode, p.Hops)
	}
	broken := errors.New("it is on fire")
	for list, x := range map[string]struct {
		far  *worldHost
		want string
	}{
		"lo,tg:eth0": {&worldHost{world: w, inode: inode}, `interface 1, "lo", at byte 1: it is in the ` +
			`network namespace of the host tg, as tg:eth0 is: write tg:lo`},
		"tg:eth0,lo":      {&worldHost{world: w, err: broken}, "it is on fire"},
		"tg:a,lo":         {&worldHost{world: w, tells: 1}, "1 interfaces were asked for, and 2 are told of"},
		"tg:a,netns:x/lo": {far, "no such namespace"},
	} {
		if _, err := open(list, x.far); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", list, err, x.want)
		}
	}
	if p, err = open("lo,tg:a,tg:b", far); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Read(); err == nil ||
		!strings.Contains(err.Error(), "the counters of 2 interfaces were asked for, and those of 1") {
		t.Error(err)
	}
	p.far[0].by.(*worldHost).err = broken
	if _, err := p.Read(); !errors.Is(err, broken) {
		t.Error(err)
	}
}
