// SPDX-License-Identifier: MIT

package labtest

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
)

// A flow that stands is ended, and what both sockets say is told; one that moves is left alone.
func TestStuck(t *testing.T) {
	p, err := stream.NewPayload(messageBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	port, err := stream.Listen("127.0.0.1:0", stream.Cookie{}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	ctx := await.Context(t)
	type dialed struct {
		c   *stream.Conn
		err error
	}
	there := make(chan dialed, 1)
	go func() {
		c, _, err := stream.Dial(ctx, port.Addr().String(), stream.Hello{TXMode: "test", MessageBytes: messageBytes,
			PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{})
		there <- dialed{c, err}
	}()
	c, _, err := port.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Welcome(stream.Welcome{}); err != nil {
		t.Fatal(err)
	}
	tx := await.Chan(t, "the sender is there", there)
	if tx.err != nil {
		t.Fatal(tx.err)
	}
	defer tx.c.Close()
	var sender atomic.Pointer[stream.Conn]
	sender.Store(tx.c)
	var m stream.Meter
	w := watchFor(200*time.Millisecond, c, &sender, &m)
	await.Until(t, "both ends are broken off", func() bool { return c.Aborted() != nil && tx.c.Aborted() != nil })
	if err := w.end(); err == nil || strings.Count(err.Error(), "State:1") != 2 {
		t.Errorf("want what two sockets say that are connected: %v", err)
	}
	if err := watchFor(time.Hour, c, &sender, &m).end(); err != nil {
		t.Errorf("of a flow that has just begun: %v", err)
	}
}
