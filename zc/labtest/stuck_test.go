// SPDX-License-Identifier: MIT

package labtest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
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
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var sender atomic.Pointer[stream.Conn]
	go func() {
		c, _, err := stream.Dial(ctx, port.Addr().String(), stream.Hello{TXMode: "test", MessageBytes: messageBytes, PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{})
		if err == nil {
			sender.Store(c)
		} else {
			t.Log(err)
		}
	}()
	c, _, err := port.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Welcome(stream.Welcome{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); sender.Load() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	var m stream.Meter
	w := watchFor(200*time.Millisecond, c, &sender, &m)
	tx := sender.Load()
	if tx == nil {
		t.Fatal("the sender is not there")
	}
	defer tx.Close()
	for end := time.Now().Add(10 * time.Second); c.Aborted() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if c.Aborted() == nil || tx.Aborted() == nil {
		t.Error("an end goes on")
	}
	if err := w.end(); err == nil || strings.Count(err.Error(), "State:1") != 2 {
		t.Errorf("want what two sockets say that are connected: %v", err)
	}
	if err := watchFor(time.Hour, c, &sender, &m).end(); err != nil {
		t.Errorf("of a flow that has just begun: %v", err)
	}
}
