// SPDX-License-Identifier: MIT

package labtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Grouped makes transfers that one receiver moves, on one thread and by one queue: that of the
// first. A flow that is to go elsewhere has SteerTo. check looks at each; the device is as it
// was afterwards.
func Grouped(t *testing.T, all []Transfer, check func(x Transfer, o Outcome)) {
	t.Helper()
	splits(t)
	before := DeviceState(t)
	out, err := In(RXNS, func() ([]Outcome, error) { return group(all) })
	if err != nil {
		t.Errorf("%v\nfix: %s", err, fault.Fix(err))
	}
	for i, o := range out {
		t.Logf("flow %d: %+v", i, o.Counters)
		checkShared(t, o.Evidence)
		check(all[i], o)
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// checkShared sees that figures of the queue are told as such, and those of a flow as its own.
func checkShared(t *testing.T, e stream.Evidence) {
	t.Helper()
	has := func(all []stream.Figure, end string) bool {
		return slices.ContainsFunc(all, func(f stream.Figure) bool { return strings.HasSuffix(f.Name, end) })
	}
	for _, end := range []string{"zcrx_queue", "devmem_queue", "_flow_queue", "_provider_bound", "_tokens_freed"} {
		if has(e.Together, end) {
			t.Errorf("%s is told of all flows together: %+v", end, e.Together)
		}
	}
	if !has(e.Figures, "_queue") || has(e.Figures, "_pieces") || has(e.Figures, "_frags") ||
		!has(e.Together, "_pieces") && !has(e.Together, "_frags") {
		t.Errorf("of each flow %+v, of all together %+v", e.Figures, e.Together)
	}
}

func group(all []Transfer) (out []Outcome, err error) {
	r, err := all[0].Open(all[0].options())
	if err != nil {
		return nil, err
	}
	sent := make(chan error, len(all))
	g, ok := r.(stream.Group)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T receives one flow only", r), r.Close())
	}
	out, senders, err := serveAll(g, all, sent)
	err = errors.Join(err, r.Close())
	for range senders {
		if serr := <-sent; err == nil {
			err = serr
		}
	}
	return out, err
}

// serveAll accepts the flows of a group and receives them.
func serveAll(g stream.Group, all []Transfer, sent chan<- error) (out []Outcome, senders int, err error) {
	var flows []*stream.Flow
	defer func() {
		for _, f := range flows {
			f.Conn.Close()
		}
	}()
	for i, x := range all {
		port, err := stream.Listen(net.JoinHostPort(Addrs[x.Family], "0"), stream.Cookie{}, sock.Options{})
		if err != nil {
			return nil, senders, err
		}
		defer port.Close()
		senders++
		go func() {
			_, err := In(TXNS, func() (struct{}, error) {
				return struct{}{}, x.send(port.Addr().String(), stream.Cookie{}, new(stream.Meter),
					new(atomic.Pointer[stream.Conn]))
			})
			sent <- err
		}()
		ctx, cancel := context.WithDeadline(context.Background(), await.Deadline())
		defer cancel()
		conn, hello, err := port.Accept(ctx)
		if err != nil {
			return nil, senders, err
		}
		flows = append(flows, &stream.Flow{N: i, CPU: -1, Conn: conn})
		conn.SteerTo = x.SteerTo
		if err := g.Attach(conn, hello); err != nil {
			return nil, senders, err
		}
	}
	for _, f := range flows {
		if err := f.Conn.Welcome(stream.Welcome{}); err != nil {
			return nil, senders, err
		}
	}
	if err := g.ReceiveAll(flows); err != nil {
		return nil, senders, err
	}
	for _, f := range flows {
		out = append(out, Outcome{Counters: f.Meter.Snapshot(), Evidence: g.EvidenceOf(f)})
	}
	return out, senders, nil
}
