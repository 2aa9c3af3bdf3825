// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// openNamed opens a namespace by its path. Tests have others.
var openNamed = veth.OpenNetns

// openPath opens the interfaces of a cell's path: those of a host that is reached by a connection
// by its agent, the others here, in the namespaces of the hosts and in others of this machine.
func openPath(ctx context.Context, list string, sut, tg *host.Host) (*hops.Path, error) {
	places, err := ifpath.ParseRun(list)
	if err != nil {
		return nil, err
	}
	for i := range places {
		if h := map[string]*host.Host{"sut": sut, "tg": tg}[places[i].Host]; h != nil {
			places[i].Netns = h.Spec.Netns // "" of one that its agent reads
		}
	}
	path, err := hops.OpenFar(places, func(netns string) (*veth.Netns, error) {
		if !strings.Contains(netns, "/") { // a name; of a host it is a path
			netns = filepath.Join(host.NetnsDir, netns)
		}
		return openNamed(netns)
	}, farPaths(ctx, sut, tg))
	if err != nil {
		return nil, err // it is closed
	}
	return path, nil
}

// checkPaths refuses a path that cannot be followed, before anything is set on a host.
func (st *stage) checkPaths(ctx context.Context) error {
	known := map[string]bool{"": true}
	for _, c := range st.spec.Cells {
		if known[c.Path] {
			continue
		}
		known[c.Path] = true
		p, err := openPath(ctx, c.Path, st.SUT, st.TG)
		if err == nil {
			_, err = p.Read() // what only the reading shows
			err = errors.Join(err, p.Close())
		}
		if err == nil {
			continue
		}
		if lost := errors.Join(st.SUT.Err(), st.TG.Err()); lost != nil || ctx.Err() != nil ||
			errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: %w", st.spec.Called("path"), err)
		}
		return inputErrorf("%s: %w", st.spec.Called("path"), err)
	}
	return nil
}

// pathCounters follows the packets of a run's window.
type pathCounters struct {
	path     *hops.Path
	from, to hops.Reading
	both     bool
	err      error
	done     chan struct{}
	over     chan struct{} // the run is
}

// countPath opens the path of a cell; nil: it names none.
func countPath(ctx context.Context, path string, sut, tg *host.Host) *pathCounters {
	if path == "" {
		return nil
	}
	a := &pathCounters{done: make(chan struct{}), over: make(chan struct{})}
	a.path, a.err = openPath(ctx, path, sut, tg)
	return a
}

// read reads the counters, and reports whether all was well so far.
func (a *pathCounters) read(into *hops.Reading) bool {
	if a.err == nil {
		*into, a.err = a.path.Read()
	}
	return a.err == nil
}

// beginWhole reads the counters now, and when the run is over.
func (a *pathCounters) beginWhole() {
	if a == nil {
		return
	}
	if !a.read(&a.from) {
		close(a.done)
		return
	}
	go func() {
		defer close(a.done)
		<-a.over
		a.both = a.read(&a.to)
	}()
}

// begin reads the counters at the edges of the window, which begins at a time of CLOCK_MONOTONIC.
func (a *pathCounters) begin(ctx context.Context, from int64, window time.Duration) {
	if a == nil {
		return
	}
	go func() {
		defer close(a.done)
		a.both = a.await(ctx, from) && a.read(&a.from) && a.await(ctx, from+int64(window)) && a.read(&a.to)
	}()
}

// await waits for a time, and reports whether it came before the run's end.
func (a *pathCounters) await(ctx context.Context, ns int64) bool {
	t := time.NewTimer(time.Duration(ns - host.Monotonic()))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.over:
	case <-ctx.Done():
	}
	return false
}

// end gives the outcome what was found, when the run is over.
func (a *pathCounters) end(out *outcome) {
	if a == nil {
		return
	}
	close(a.over)
	<-a.done
	if a.both {
		d := a.path.Between(a.from, a.to, hops.Seen{})
		out.path = alongOf(a.path, &d)
	}
	if a.path != nil {
		a.err = errors.Join(a.err, a.path.Close())
	}
	if a.err != nil {
		out.warnings = append(out.warnings, "the counters along the path were not read: "+plaintext.Line(a.err.Error()))
	}
}

// alongOf converts a difference to the form of records.
func alongOf(p *hops.Path, d *hops.Diff) *results.AlongPath {
	out := &results.AlongPath{Seconds: d.Seconds}
	for i, t := range d.Hops {
		h := results.PathHop{Name: p.Hops[i].String(), Kind: p.Hops[i].Kind}
		if !t.Reset {
			h.RxPackets, h.TxPackets, h.RxBytes, h.TxBytes = &t.RxPackets, &t.TxPackets, &t.RxBytes, &t.TxBytes
		}
		out.Interfaces = append(out.Interfaces, h)
	}
	for i := range d.Crossings {
		c := &d.Crossings[i]
		s := results.PathStep{From: c.From + 1, To: c.To + 1, Left: c.Left, Came: c.Came,
			Assumed: !p.Links[i%len(p.Links)].Sure}
		if !d.Hops[c.From].Reset && !d.Hops[c.To].Reset {
			s.Sent, s.Arrived, s.Skew = &c.Sent, &c.Arrived, &c.Skew
			s.Lost, s.LostLeast, s.LostMost, s.UntoldLeast, s.UntoldMost = new(c.Lost()), &c.LostLeast, &c.LostMost,
				&c.UntoldLeast, &c.UntoldMost
			s.Told, s.Unknown = toldOf(&c.Account), c.Unknown
		}
		out.Between = append(out.Between, s)
	}
	for _, e := range d.Ends {
		way := "rx"
		if e.Sends {
			way = "tx"
		}
		out.Ends = append(out.Ends, results.PathEnd{Hop: e.Hop + 1, Way: way, Told: toldOf(&e.Account)})
	}
	return out
}

// toldOf lists the counters that account for a loss.
func toldOf(b *ledger.Balance) (all []results.PathLoss) {
	for _, r := range b.Rows {
		_, name, _ := strings.Cut(r.Name, " ") // behind its interface
		all = append(all, results.PathLoss{Counter: r.Name, Name: name, Packets: r.Count})
	}
	return all
}
