// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// freeAddr is an address on which nothing listens.
func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestDialWaitsForTheListener(t *testing.T) {
	addr, cookie := freeAddr(t), stream.NewCookie()
	type answer struct {
		w   stream.Welcome
		err error
	}
	dialed := make(chan answer, 1)
	go func() {
		c, w, err := stream.Dial(soon(t), addr, helloOf(cookie), sock.Options{})
		if err == nil {
			c.Close()
		}
		dialed <- answer{w, err}
	}()
	time.Sleep(100 * time.Millisecond)
	p, err := stream.Listen(addr, cookie, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rx, _, err := p.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	defer rx.Close()
	if err := rx.Welcome(stream.Welcome{Duration: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if a := <-dialed; a.err != nil || a.w.Duration != time.Minute {
		t.Errorf("%+v", a)
	}
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := stream.Dial(ctx, freeAddr(t), helloOf(stream.Cookie{}), sock.Options{})
	if !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(fault.Fix(err), "start the receiver") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v; fix %q", time.Since(began), err, fault.Fix(err))
	}
}

func TestDialWithTheWrongCookie(t *testing.T) {
	p := listen(t, stream.NewCookie())
	began := time.Now()
	_, _, err := stream.Dial(soon(t), p.Addr().String(), helloOf(stream.NewCookie()), sock.Options{})
	if err == nil || !strings.Contains(err.Error(), "welcome") || !strings.Contains(fault.Fix(err), "cookie") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v; fix %q", time.Since(began), err, fault.Fix(err))
	}
	strangers(t, p, 1)
}

// mute listens, accepts and says nothing.
func mute(t testing.TB, say []byte) net.Addr {
	t.Helper()
	return muteAt(t, "127.0.0.1:0", say)
}

func muteAt(t testing.TB, addr string, say []byte) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			c.Write(say)
		}
	}()
	return l.Addr()
}

func TestDialToSomethingElse(t *testing.T) {
	ssh := []byte("SSH-2.0-OpenSSH_9.9 some server\r\n")
	if _, _, err := stream.Dial(soon(t), mute(t, ssh).String(), helloOf(stream.Cookie{}), sock.Options{}); err == nil || !strings.Contains(err.Error(), "not a zcbench peer of this version") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := stream.Dial(ctx, mute(t, nil).String(), helloOf(stream.Cookie{}), sock.Options{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("a mute server, after %v: %v", time.Since(began), err)
	}
}

// One that nobody answered at first, and then somebody else.
func TestDialToSomethingElseLater(t *testing.T) {
	t.Parallel() // it waits
	addr := freeAddr(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	dialed := make(chan error, 1)
	go func() {
		_, _, err := stream.Dial(ctx, addr, helloOf(stream.Cookie{}), sock.Options{})
		dialed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	muteAt(t, addr, nil)
	if err := <-dialed; err == nil || !strings.Contains(err.Error(), "wait for the receiver's welcome") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

// A receiver may take its time until it welcomes a flow: others are steered, and a NIC may train
// its link again for that. The limit of the connection is that of the welcome, however long it is.
func TestDialWaitsForALateWelcome(t *testing.T) {
	long.Test(t) // it waits for longer than a sender once did
	t.Parallel()
	const late = 11 * time.Second
	c := stream.NewCookie()
	p := listen(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 6*late)
	defer cancel()
	dialed := make(chan error, 1)
	go func() {
		tx, _, err := stream.Dial(ctx, p.Addr().String(), helloOf(c), sock.Options{})
		if err == nil {
			tx.Close()
		}
		dialed <- err
	}()
	rx, _, err := p.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rx.Close()
	select {
	case err := <-dialed:
		t.Fatalf("it did not wait for its welcome: %v", err)
	case <-time.After(late):
	}
	if err := rx.Welcome(stream.Welcome{}); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; err != nil {
		t.Error(err)
	}
}

// Calling a run off is heard in every phase of opening the flow, and said.
func TestDialCalledOff(t *testing.T) {
	t.Parallel() // it waits
	for name, addr := range map[string]string{"nobody there": freeAddr(t), "no welcome": mute(t, nil).String()} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(100*time.Millisecond, func() { cancel(stream.ErrAborted) })
		began := time.Now()
		_, _, err := stream.Dial(ctx, addr, helloOf(stream.Cookie{}), sock.Options{})
		if !errors.Is(err, stream.ErrAborted) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: after %v: %v", name, time.Since(began), err)
		}
	}
}

func TestDialOptionRefused(t *testing.T) {
	p := listen(t, stream.Cookie{})
	_, _, err := stream.Dial(soon(t), p.Addr().String(), helloOf(stream.Cookie{}), sock.Options{Congestion: "nosuch"})
	if !errors.Is(err, unix.ENOENT) || !strings.Contains(fault.Fix(err), "available now") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

func TestFarewellThatDoesNotCome(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	if _, err := tx.ReadFarewell(time.Now().Add(100 * time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) || fault.Fix(err) == "" {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	rx.Close()
	if _, err := tx.ReadFarewell(time.Now().Add(5 * time.Second)); err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Error(err)
	}
}
