// SPDX-License-Identifier: MIT

package stream_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
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
		c, w, err := stream.Dial(await.Context(t), addr, helloOf(cookie), sock.Options{})
		if err == nil {
			c.Close()
		}
		dialed <- answer{w, err}
	}()
	await.Pause("nobody listens at first", 100*time.Millisecond)
	p, err := stream.Listen(addr, cookie, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rx, _, err := p.Accept(await.Context(t))
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
	var err error
	limit := 50 * time.Millisecond
	await.Until(t, "there is time for an attempt", func() bool {
		limit *= 2
		_, _, err = stream.Dial(await.Ending(t, limit), freeAddr(t), helloOf(stream.Cookie{}), sock.Options{})
		return !errors.Is(err, context.DeadlineExceeded) // in the middle of the first
	})
	if !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(fault.Fix(err), "start the receiver") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

func TestDialWithTheWrongCookie(t *testing.T) {
	p := listen(t, stream.NewCookie())
	_, _, err := stream.Dial(await.Context(t), p.Addr().String(), helloOf(stream.NewCookie()), sock.Options{})
	if err == nil || !strings.Contains(err.Error(), "welcome") || !strings.Contains(fault.Fix(err), "cookie") ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	strangers(t, p, 1)
}

// mute listens, accepts and says nothing but say.
func mute(t testing.TB, say []byte) net.Addr {
	t.Helper()
	addr, _ := muteAt(t, "127.0.0.1:0", say)
	return addr
}

// muteAt is mute at an address. greeted has a value when somebody has said something.
func muteAt(t testing.TB, addr string, say []byte) (at net.Addr, greeted <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	said := make(chan struct{}, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			c.Write(say)
			if n, _ := c.Read(make([]byte, 1)); n == 1 {
				select {
				case said <- struct{}{}:
				default:
				}
			}
		}
	}()
	return l.Addr(), said
}

func TestDialToSomethingElse(t *testing.T) {
	ssh := []byte("SSH-2.0-OpenSSH_9.9 some server\r\n")
	if _, _, err := stream.Dial(await.Context(t), mute(t, ssh).String(), helloOf(stream.Cookie{}),
		sock.Options{}); err == nil || !strings.Contains(err.Error(), "not a zcbench peer of this version") {
		t.Error(err)
	}
	if _, _, err := stream.Dial(await.Ending(t, 150*time.Millisecond), mute(t, nil).String(), helloOf(stream.Cookie{}),
		sock.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a mute server: %v", err)
	}
}

// A receiver may say a few times that its welcome is yet to come. One that goes on and on does not
// hold the sender, who would hear neither its limit nor that the run is called off.
func TestDialToldToWait(t *testing.T) {
	w, err := stream.Welcome{}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	wait := mended(w, func(b []byte) { copy(b, "ZCP1") })
	few := append(bytes.Repeat(wait, stream.MostProds), w...)
	c, _, err := stream.Dial(await.Context(t), mute(t, few).String(), helloOf(stream.Cookie{}), sock.Options{})
	if err != nil {
		t.Fatalf("%d words before the welcome: %v", stream.MostProds, err)
	}
	c.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		peer, err := l.Accept()
		for many := bytes.Repeat(wait, 1000); err == nil; {
			_, err = peer.Write(many)
		}
	}()
	await.Return(t, "Dial does not wait for ever", func() {
		_, _, err = stream.Dial(await.Ending(t, time.Minute), l.Addr().String(), helloOf(stream.Cookie{}),
			sock.Options{})
	})
	if err == nil || !strings.Contains(err.Error(), `begins with "ZCP1"`) {
		t.Errorf("%v", err)
	}
}

// One that nobody answered at first, and then somebody else.
func TestDialToSomethingElseLater(t *testing.T) {
	t.Parallel() // it waits
	addr := freeAddr(t)
	ctx, cancel := context.WithCancelCause(await.Context(t))
	defer cancel(nil)
	dialed := make(chan error, 1)
	go func() {
		_, _, err := stream.Dial(ctx, addr, helloOf(stream.Cookie{}), sock.Options{})
		dialed <- err
	}()
	await.Pause("nobody listens at first", 100*time.Millisecond)
	_, greeted := muteAt(t, addr, nil)
	await.Chan(t, "the sender says hello", greeted)
	cancel(context.DeadlineExceeded) // as if its time was up
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
	ctx := await.Context(t)
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
	await.Pause("the sender waits for its welcome", late)
	if len(dialed) > 0 {
		t.Fatalf("it did not wait for its welcome: %v", <-dialed)
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
		await.Later(100*time.Millisecond, func() { cancel(stream.ErrAborted) })
		var err error
		await.Return(t, "Dial hears that: "+name, func() {
			_, _, err = stream.Dial(ctx, addr, helloOf(stream.Cookie{}), sock.Options{})
		})
		if !errors.Is(err, stream.ErrAborted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Dial returns when its time is up, when it is told to, and when it is not welcome: not later.
func TestDialIsPrompt(t *testing.T) {
	kind.Timed(t)
	p := listen(t, stream.NewCookie())
	for what, addr := range map[string]string{"nobody there": freeAddr(t), "no welcome": mute(t, nil).String(),
		"another cookie": p.Addr().String()} {
		for _, off := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(await.Ending(t, 100*time.Millisecond))
			if off {
				ctx, cancel = context.WithCancelCause(await.Context(t))
				await.Later(50*time.Millisecond, func() { cancel(stream.ErrAborted) })
			}
			began := time.Now()
			_, _, err := stream.Dial(ctx, addr, helloOf(stream.Cookie{}), sock.Options{})
			if took := time.Since(began); err == nil || took > 5*time.Second {
				t.Errorf("%s, called off %v: %v after %v", what, off, err, took)
			}
			cancel(nil)
		}
	}
	strangers(t, p, 2)
}

func TestDialOptionRefused(t *testing.T) {
	p := listen(t, stream.Cookie{})
	_, _, err := stream.Dial(await.Context(t), p.Addr().String(), helloOf(stream.Cookie{}),
		sock.Options{Congestion: "nosuch"})
	if !errors.Is(err, unix.ENOENT) || !strings.Contains(fault.Fix(err), "available now") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

func TestFarewellThatDoesNotCome(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	soon, _ := await.Ending(t, 100*time.Millisecond).Deadline()
	if _, err := tx.ReadFarewell(soon); !errors.Is(err, context.DeadlineExceeded) || fault.Fix(err) == "" {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	rx.Close()
	if _, err := tx.ReadFarewell(await.Deadline()); err == nil ||
		!strings.Contains(err.Error(), "closed the connection") {
		t.Error(err)
	}
}

// What keeps a NIC from being asked for its records is an error, and no answer.
func TestDeviceIsNotAsked(t *testing.T) {
	ctx := await.Ending(t, 50*time.Millisecond)
	takes, err := stream.DeviceTakes(ctx, freeAddr(t), helloOf(stream.NewCookie()), sock.Options{}, records.TLS13)
	if takes || !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("%v, %v", takes, err)
	}
	called, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream.DeviceTakes(called, freeAddr(t), helloOf(stream.NewCookie()), sock.Options{},
		records.TLS13); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
