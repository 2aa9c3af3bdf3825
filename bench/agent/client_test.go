// SPDX-License-Identifier: MIT

package agent

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
)

// client is a controller that talks to an agent in this process.
type client struct {
	t     *testing.T
	enc   *wire.Encoder
	in    *io.PipeWriter
	got   chan wire.Response
	ended chan error
	agent *agent
	id    int
}

// serve starts an agent; the test's end ends it.
func serve(t *testing.T) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, enc: wire.NewEncoder(inW), in: inW, got: make(chan wire.Response, 100),
		ended: make(chan error, 1)}
	c.agent = &agent{enc: wire.NewEncoder(outW)}
	go func() {
		err := c.agent.serve(context.Background(), inR)
		inR.CloseWithError(io.ErrClosedPipe)
		outW.Close()
		c.ended <- err
	}()
	go func() {
		dec := wire.NewDecoder(outR)
		for {
			var r wire.Response
			if dec.Decode(&r) != nil {
				close(c.got)
				return
			}
			c.got <- r
		}
	}()
	t.Cleanup(func() { inW.Close() })
	return c
}

// greeted is serve after a hello.
func greeted(t *testing.T) *client {
	t.Helper()
	c := serve(t)
	c.ok(wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: version.Tool()}, nil)
	return c
}

func (c *client) send(op wire.Op, params any) int {
	c.t.Helper()
	c.id++
	r := wire.Request{ID: c.id, Op: op}
	switch p := params.(type) {
	case nil:
	case string:
		r.Params = json.RawMessage(p)
	default:
		b, err := json.Marshal(p)
		if err != nil {
			c.t.Fatal(err)
		}
		r.Params = b
	}
	if err := c.enc.Encode(r); err != nil {
		c.t.Fatalf("%s: %v", op, err)
	}
	return c.id
}

// answer is the next answer, which must be to request id.
func (c *client) answer(id int) wire.Response {
	c.t.Helper()
	select {
	case r, ok := <-c.got:
		if !ok {
			c.t.Fatal("the agent ended without an answer")
		}
		if r.ID != id {
			c.t.Fatalf("answer to %d, want %d: %s %v", r.ID, id, r.Result, r.Error)
		}
		return r
	case <-await.Timeout():
		c.t.Fatalf("no answer to %d", id)
	}
	panic("unreachable")
}

func (c *client) ok(op wire.Op, params, result any) {
	c.t.Helper()
	r := c.answer(c.send(op, params))
	if r.Error != nil {
		c.t.Fatalf("%s: %v", op, r.Error)
	}
	if result != nil {
		if err := r.Decode(result); err != nil {
			c.t.Fatalf("%s: %v", op, err)
		}
	}
}

// refused makes a request that must fail with a message that has all of want.
func (c *client) refused(op wire.Op, params any, want ...string) *wire.Error {
	c.t.Helper()
	r := c.answer(c.send(op, params))
	if r.Error == nil {
		c.t.Fatalf("%s: answered %s, want an error with %q", op, r.Result, want)
	}
	for _, w := range want {
		if !strings.Contains(r.Error.Message, w) {
			c.t.Errorf("%s: error %q lacks %q", op, r.Error.Message, w)
		}
	}
	return r.Error
}

// end waits for Serve to return.
func (c *client) end() error {
	c.t.Helper()
	return await.Chan(c.t, "the agent's end", c.ended)
}

// flows waits until payload passes at the agent's end.
func (c *client) flows() {
	c.t.Helper()
	await.Until(c.t, "payload", func() bool {
		c.agent.mu.Lock()
		defer c.agent.mu.Unlock()
		end := c.agent.ends[0]
		return end != nil && end.Progress() > 0
	})
}

// endless is a run that ends by itself when a test that waits for it has long failed.
var endless = wire.Schedule{DurationNs: int64(time.Hour), PeerWaitNs: int64(time.Hour), StallNs: int64(time.Hour)}

func rxSpec() wire.EndSpec {
	return wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", MessageBytes: 1 << 20}, Addr: "127.0.0.1:0",
		Flows: wire.OneFlow(-1)}
}

func (c *client) openRX() string {
	c.t.Helper()
	var o wire.Opened
	c.ok(wire.OpOpen, rxSpec(), &o)
	return o.Addr
}

// free reports whether nothing listens at addr.
func free(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		c.Close()
	}
	return err != nil
}
