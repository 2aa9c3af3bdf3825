// SPDX-License-Identifier: MIT

package tcpmmap_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/zc/tcpmmap"
)

// side runs a function in one of two network namespaces, on a thread of its own.
type side func(func() error) error

// flow is one flow from a sending to a receiving side.
type flow struct {
	rx, tx    side
	addr      string // of the receiver
	opt       stream.Options
	newSender func(stream.Options) (stream.Sender, error)
	bytes     uint64                // at least
	corrupt   func(*stream.Payload) // spoils what is sent; nil: nothing is wrong
}

type outcome struct {
	counters stream.Counters
	evidence stream.Evidence
	sent     uint64
}

func (o outcome) mapped() float64 {
	return float64(o.counters.ZeroCopyBytes) / float64(o.counters.Bytes)
}

// run moves the flow's bytes and verifies each.
func (f flow) run(t *testing.T) (o outcome) {
	t.Helper()
	if f.opt.MessageBytes == 0 {
		f.opt.MessageBytes = 4 << 20
	}
	f.opt.Touch = stream.TouchVerify
	at, sent := make(chan string, 1), make(chan error, 1)
	cookie := stream.NewCookie()
	ctx := await.Context(t)
	go func() {
		addr, ok := <-at
		if !ok {
			sent <- nil
			return
		}
		sent <- f.tx(func() error { return f.send(ctx, addr, cookie, &o.sent) })
	}()
	err := f.rx(func() error {
		defer close(at)
		return f.receive(ctx, at, cookie, &o)
	})
	if err = errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	c := o.counters
	if c.Bytes != o.sent || (c.Mismatches != 0) != (f.corrupt != nil) || c.ZeroCopyBytes+c.CopiedBytes != c.Bytes {
		t.Errorf("%d bytes sent; %+v", o.sent, c)
	}
	t.Logf("%d MiB: %.2f %% mapped, %d calls (%.1f per MB), %d waits; %s; fix: %s", c.Bytes>>20, 100*o.mapped(),
		c.Calls, float64(c.Calls)/(float64(c.Bytes)/1e6), c.Waits,
		o.evidence.Why, o.evidence.Fix)
	return o
}

func (f flow) receive(ctx context.Context, at chan<- string, cookie stream.Cookie, o *outcome) (err error) {
	r, err := tcpmmap.New(f.opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	port, err := stream.Listen(net.JoinHostPort(f.addr, "0"), cookie, sock.Options{})
	if err != nil {
		return err
	}
	defer port.Close()
	at <- port.Addr().String()
	c, h, err := port.Accept(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := errors.Join(r.Attach(c, h), c.Welcome(stream.Welcome{})); err != nil {
		return err
	}
	var m stream.Meter
	err = r.Receive(c, &m)
	o.counters, o.evidence = m.Snapshot(), r.Evidence()
	for _, f := range o.evidence.Figures {
		err = errors.Join(err, metrics.CheckRow(f.Name, f.Unit, "data path, whole flow"))
	}
	return err
}

func (f flow) send(ctx context.Context, addr string, cookie stream.Cookie, sent *uint64) error {
	p, err := stream.NewPayload(f.opt.MessageBytes)
	if err != nil {
		return err
	}
	defer p.Close()
	if f.corrupt != nil {
		f.corrupt(p)
	}
	s, err := f.newSender(f.opt)
	if err != nil {
		return err
	}
	defer s.Close()
	h := stream.Hello{Cookie: cookie, TXMode: "test", MessageBytes: uint64(p.MessageBytes()),
		PeriodBytes: uint64(p.PeriodBytes())}
	c, _, err := stream.Dial(ctx, addr, h, sock.Options{ZeroCopy: true, Congestion: "cubic"})
	if err != nil {
		return err
	}
	defer c.Close()
	var m stream.Meter
	var done atomic.Bool
	go func() {
		defer c.Stop()
		await.So(func() bool { return done.Load() || m.Snapshot().Bytes >= f.bytes })
	}()
	err = s.Send(c, p, &m)
	done.Store(true)
	*sent = m.Snapshot().Bytes
	return errors.Join(err, c.EndOfSend())
}
