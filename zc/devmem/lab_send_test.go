// SPDX-License-Identifier: MIT

package devmem_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// mustHaveSent checks a sender's account of its payload.
func mustHaveSent(t *testing.T, name string, o labtest.Outcome) {
	t.Helper()
	if s := o.Sent; name == "devmem" && (s.ZeroCopyBytes != s.Bytes || s.CopiedBytes != 0 ||
		s.CopiedCompletions != 0 || s.Completions == 0) {
		t.Errorf("sent %+v", s)
	}
}

// From a dmabuf into each way of receiving; if asked for, a GiB, which into the last
// TestLabGiB sends.
func TestLabSend(t *testing.T) {
	labtest.Need(t)
	for name, open := range map[string]func(stream.Options) (stream.Receiver, error){
		"tcp": labtest.Opener(baseline.NewTCPReceiver), "zcrx": labtest.Opener(zcrx.New), "devmem": open,
	} {
		t.Run(name, func(t *testing.T) {
			bytes := long.Rounds(16<<20, 1<<30)
			if name == "devmem" {
				bytes = 16 << 20
			}
			o := mustArrive(t, labtest.Transfer{Family: "ipv6", Bytes: bytes, Open: open, TX: senders["devmem"],
				ZeroCopy: true})
			mustHaveSent(t, "devmem", o)
			if c := o.Counters; name != "tcp" && c.ZeroCopyBytes != c.Bytes {
				t.Errorf("received %+v", c)
			}
		})
	}
}

// A flow that leaves by another interface than the one bound is refused by the
// kernel, and the error says by which it leaves.
func TestLabSendElsewhere(t *testing.T) {
	labtest.Need(t)
	_, err := labtest.In(labtest.TXNS, func() (struct{}, error) {
		c, err := rtnl.Dial()
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		lo, err := c.Named("lo")
		if err == nil {
			err = c.SetUp(lo.Index, true)
		}
		if err != nil {
			return struct{}{}, err
		}
		defer c.SetUp(lo.Index, false)
		return struct{}{}, sendOverLoopback(await.Context(t))
	})
	if !errors.Is(err, unix.ENODEV) ||
		!labtest.Contains(err, "the memory is bound to sn1, but the route to 127.0.0.1 leaves by lo") ||
		fault.Fix(err) == "" {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

// sendOverLoopback sends to 127.0.0.1 from memory that is bound to the device.
func sendOverLoopback(ctx context.Context) error {
	p, err := stream.NewPayload(1 << 20)
	if err != nil {
		return err
	}
	defer p.Close()
	s, err := devmem.NewSender(stream.Options{MessageBytes: 1 << 20, NIC: stream.NICQueue{Dev: labtest.TXDev}})
	if err != nil {
		return err
	}
	defer s.Close()
	port, err := stream.Listen("127.0.0.1:0", stream.Cookie{}, sock.Options{})
	if err != nil {
		return err
	}
	defer port.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if c, _, err := port.Accept(ctx); err == nil {
			defer c.Close()
			c.Welcome(stream.Welcome{})
			<-ctx.Done()
		}
	}()
	c, _, err := stream.Dial(ctx, port.Addr().String(), stream.Hello{TXMode: "devmem", MessageBytes: 1 << 20,
		PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{ZeroCopy: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return s.Send(c, p, new(stream.Meter))
}
