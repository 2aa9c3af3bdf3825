// SPDX-License-Identifier: MIT

package hops

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// Far is a process on another host, or in a namespace that this one has no name for, which reads
// the interfaces there.
type Far interface {
	// Open finds interfaces. They are in the order of the places, and in one namespace.
	Open(places []Place) ([]Hop, error)
	// Read reads the counters of all of them, as [Path.Read] does.
	Read() (Reading, error)
	// Inode is that of its network namespace if it is on this machine; 0 if not.
	Inode() uint64
	Close() error
}

// farHops are the hops of the path that one Far reads.
type farHops struct {
	by   Far
	hops []int // their numbers in the path
}

// farReading is what the readings of several processes have beside one's. One who is asked before
// this process reads and once more after it has a moment of this one's between its two readings:
// whatever clocks the hosts have, and however long the answers took.
type farReading struct {
	wide   []Counts // of all hops, a far one's counters of the first reading and of the second
	stacks []Stack  // of the machines of the readers 1, 2, ..., at the first
}

// reads notes that a hop is read by f, and gives its number among the readers.
func (p *Path) reads(f Far, hop int) int {
	for i := range p.far {
		if p.far[i].by == f {
			p.far[i].hops = append(p.far[i].hops, hop)
			return i + 1
		}
	}
	p.far = append(p.far, farHops{by: f, hops: []int{hop}})
	return len(p.far)
}

// openFar makes the other processes find their interfaces.
func (p *Path) openFar() error {
	for n, f := range p.far {
		var places []Place
		for _, i := range f.hops {
			places = append(places, p.Hops[i].Place)
		}
		if err := p.oneReader(f.by.Inode(), places[0]); err != nil {
			return err
		}
		all, err := f.by.Open(places)
		if err == nil && len(all) != len(places) {
			err = fmt.Errorf("%d interfaces were asked for, and %d are told of", len(places), len(all))
		}
		if err != nil {
			return err
		}
		for k, i := range f.hops {
			h := all[k]
			h.Place, h.reader, h.space = places[k], n+1, nil
			p.Hops[i] = h
		}
	}
	return nil
}

// oneReader refuses a hop of this process in a namespace that a Far reads: queues between two hops
// of one namespace are to be read at one moment.
func (p *Path) oneReader(inode uint64, far Place) error {
	for i := range p.Hops {
		if h := &p.Hops[i]; inode != 0 && h.reader == 0 && h.Inode == inode {
			return &PlaceError{h.Place,
				fmt.Errorf("it is in the network namespace of the host %s, as %s is: write %s:%s", far.Host,
					far.String(), far.Host, h.Dev)}
		}
	}
	return nil
}

// askFar makes the other processes read, all at once.
func (p *Path) askFar() ([]Reading, error) {
	out, errs := make([]Reading, len(p.far)), make([]error, len(p.far))
	var all sync.WaitGroup
	for i := range p.far {
		all.Go(func() {
			out[i], errs[i] = p.far[i].by.Read()
			if n := len(p.far[i].hops); errs[i] == nil && len(out[i].Hops) != n {
				errs[i] = fmt.Errorf("the counters of %d interfaces were asked for, and those of %d are told", n,
					len(out[i].Hops))
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// join adds what the others read before r and after it.
func (p *Path) join(r *Reading, first, again []Reading) {
	r.far.wide = make([]Counts, len(r.Hops))
	copy(r.far.wide, r.Hops)
	for n, f := range p.far {
		for k, i := range f.hops {
			r.Hops[i] = first[n].Hops[k]
			r.far.wide[i] = Counts{Stats: first[n].Hops[k].Stats, Again: again[n].Hops[k].Stats}
		}
		r.far.stacks = append(r.far.stacks, first[n].Stack)
	}
}

// apart reports whether two hops are read by two processes.
func (p *Path) apart(x, y int) bool { return p.Hops[x].reader != p.Hops[y].reader }

// of returns the counters of a hop: read by its process there and back, or, for comparison with
// those of another process, such that a moment of that one's readings is between the two.
func (r *Reading) of(hop int, apart bool) *Counts {
	if apart {
		return &r.far.wide[hop]
	}
	return &r.Hops[hop]
}

// stack returns that of the machine on which packets go from the one hop to the other.
func (p *Path) stack(c *Crossing, r *Reading) *Stack {
	if n := p.Hops[c.From].reader; n > 0 {
		return &r.far.stacks[n-1]
	}
	return &r.Stack
}

// fellMeanwhile reports whether a counter of a far hop fell between the readings of one edge, or of
// both: as [Traffic.Reset].
func fellMeanwhile(from, to *Reading, hop int) bool {
	if from.far.wide == nil {
		return false
	}
	a, b := &from.far.wide[hop], &to.far.wide[hop]
	fell := false
	last := a.Stats
	for _, s := range []*Counts{a, b} {
		for _, now := range []*rtnl.Stats{&s.Stats, &s.Again} {
			fell = fell || now.RxPackets < last.RxPackets || now.TxPackets < last.TxPackets ||
				now.RxMissedErrors < last.RxMissedErrors || now.RxErrors < last.RxErrors
			last = *now
		}
	}
	return fell
}
