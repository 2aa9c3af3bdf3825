// SPDX-License-Identifier: MIT

package agent

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
)

// monotonic is the clock of silence. Tests that have one of their own set it.
var monotonic = counter.Monotonic

// inbox reads the controller's requests while one of them is worked on, answers
// its signs of life at once, and notices when they stay away.
type inbox struct {
	requests chan wire.Request
	ended    chan struct{} // closed with err set
	closed   chan struct{} // nobody takes requests any more
	err      error

	heardNs atomic.Int64
	limit   time.Duration // of silence; 0: none
	watch   <-chan time.Time
	ticker  *time.Ticker
}

// queued is how many requests may wait while one is worked on. A controller has
// at most a run and its abort under way.
const queued = 16

func openInbox(in io.Reader, enc *wire.Encoder) *inbox {
	b := &inbox{requests: make(chan wire.Request, queued), ended: make(chan struct{}), closed: make(chan struct{})}
	b.heard()
	go b.read(wire.NewDecoder(in), enc)
	return b
}

func (b *inbox) heard() { b.heardNs.Store(monotonic()) }

func (b *inbox) read(dec *wire.Decoder, enc *wire.Encoder) {
	defer close(b.ended)
	for {
		var req wire.Request
		if b.err = dec.Decode(&req); b.err != nil {
			if b.err != io.EOF {
				b.err = fmt.Errorf("standard input: %w", b.err)
			}
			return
		}
		b.heard()
		if req.Op == wire.OpAlive {
			if b.err = enc.Encode(wire.Response{ID: req.ID, Result: []byte("{}")}); b.err != nil {
				return
			}
			continue
		}
		select {
		case b.requests <- req:
		case <-b.closed:
			return
		}
	}
}

// expect sets how long the controller may be silent; 0: for ever.
func (b *inbox) expect(limit time.Duration) {
	if b.ticker != nil {
		b.ticker.Stop()
	}
	if b.limit, b.watch = limit, nil; limit > 0 {
		b.ticker = time.NewTicker(max(limit/8, time.Millisecond))
		b.watch = b.ticker.C
	}
}

// next waits for a request. What was read before the input ended is still
// handed out.
func (b *inbox) next(ctx context.Context) (wire.Request, error) {
	for {
		select {
		case req := <-b.requests:
			return req, nil
		case <-b.ended:
			select {
			case req := <-b.requests:
				return req, nil
			default:
				return wire.Request{}, b.err
			}
		case <-b.watch:
			if d := time.Duration(monotonic() - b.heardNs.Load()); d > b.limit {
				return wire.Request{}, &fault.Error{
					Op: fmt.Sprintf("nothing heard from the controller for %v: considered lost",
						d.Round(100*time.Millisecond)),
					How: "check the connection; what was running has been stopped and its settings restored"}
			}
		case <-ctx.Done():
			return wire.Request{}, context.Cause(ctx)
		}
	}
}

func (b *inbox) close() {
	b.expect(0)
	close(b.closed)
}
