// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// Rings makes transfers by rings that share a queue, each with a thread of its own and the flows
// that are given for it. check looks at each flow; the device is as it was afterwards. It returns
// what was wrong with each ring.
func Rings(t *testing.T, share *stream.Rings, rings [][]Transfer, check func(ring int, x Transfer, o Outcome)) []error {
	t.Helper()
	splits(t)
	before := DeviceState(t)
	share.N = len(rings)
	outs, errs := make([][]Outcome, len(rings)), make([]error, len(rings))
	opened := make([]chan bool, len(rings)+1) // whether the ring before was
	for i := range opened {
		opened[i] = make(chan bool, 1)
	}
	opened[0] <- true
	var all, ready sync.WaitGroup
	ready.Add(len(rings))
	for i, flows := range rings {
		all.Go(func() {
			outs[i], errs[i] = In(RXNS, func() ([]Outcome, error) { return ring(share, i, flows, opened, &ready) })
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Logf("ring %d: %v; fix: %s", i, err, fault.Fix(err))
			continue
		}
		for n, o := range outs[i] {
			t.Logf("ring %d, flow %d: %+v", i, n, o.Counters)
			check(i, rings[i][n], o)
		}
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	return errs
}

// ring runs one of the rings, when those before it are there, and lets its flows begin when all
// rings are.
func ring(share *stream.Rings, i int, flows []Transfer, opened []chan bool, ready *sync.WaitGroup) (out []Outcome,
	err error) {
	come := sync.OnceFunc(ready.Done)
	defer come()
	there := false
	defer func() {
		if !there {
			opened[i+1] <- false
		}
	}()
	if !<-opened[i] {
		return nil, errors.New("the ring before it is not there")
	}
	o := flows[0].options()
	o.NIC.Rings, o.NIC.Ring = share, i
	r, err := flows[0].Open(o)
	if err != nil {
		return nil, err
	}
	there = true
	opened[i+1] <- true
	come()
	ready.Wait()
	sent := make(chan error, len(flows))
	out, senders, err := serveAll(r.(stream.Group), flows, sent)
	err = errors.Join(err, r.Close())
	for range senders {
		if serr := <-sent; err == nil {
			err = serr
		}
	}
	return out, err
}
