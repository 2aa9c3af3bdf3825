// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
)

// keeper has one machine up and runs requests in it, in the order in which they come.
// A machine that a command has spoiled it throws away and boots another.
type keeper struct {
	boot  func(context.Context) (runner, error)
	log   io.Writer
	queue chan *visit
}

// runner is a machine that is up.
type runner interface {
	run(context.Context, *request) outcome
	ready() error // waits until it takes another
	alive() bool  // it has not ended meanwhile
	close()
}

// visit is a request in the queue.
type visit struct {
	ctx context.Context
	req *request
	out chan outcome // has room for one
}

// booted is a machine, or why there is none.
type booted struct {
	m   runner
	err error
}

func newKeeper(boot func(context.Context) (runner, error), log io.Writer) *keeper {
	return &keeper{boot, log, make(chan *visit)}
}

// run runs the request when its turn has come.
func (k *keeper) run(ctx context.Context, r *request) outcome {
	v := &visit{ctx, r, make(chan outcome, 1)}
	select {
	case k.queue <- v:
		return <-v.out
	case <-ctx.Done():
		return outcome{exit: ExitTrouble, err: &Error{"run " + r.name(), context.Cause(ctx), ""}}
	}
}

// loop keeps the machine until ctx ends; then there is none.
func (k *keeper) loop(ctx context.Context) {
	next := k.start(ctx)
	for {
		select {
		case v := <-k.queue:
			b := <-next
			if b.m != nil && !b.m.alive() && ctx.Err() == nil {
				fmt.Fprintln(k.log, "lab: the idle machine exited; booting another")
				b.m.close()
				b = <-k.start(ctx)
			}
			if b.m == nil { // its boot may have failed long ago
				v.out <- outcome{exit: ExitOf(b.err), err: b.err}
				next = k.start(ctx)
				continue
			}
			next = k.visit(ctx, v, b.m)
		case <-ctx.Done():
			if b := <-next; b.m != nil {
				b.m.close()
			}
			return
		}
	}
}

// visit runs one request and returns the machine for the next.
func (k *keeper) visit(ctx context.Context, v *visit, m runner) <-chan booted {
	if v.ctx.Err() != nil {
		v.out <- outcome{exit: ExitTrouble, err: context.Cause(v.ctx)}
		return already(booted{m: m})
	}
	out := m.run(v.ctx, v.req)
	v.out <- out
	if out.spoiled == "" {
		return k.again(ctx, m, v.req)
	}
	m.close()
	if ctx.Err() != nil {
		return already(booted{err: ctx.Err()})
	}
	fmt.Fprintf(k.log, "lab: after %s: %s: discarding the machine and booting another\n", v.req.name(), out.spoiled)
	return k.start(ctx)
}

// start boots in the background.
func (k *keeper) start(ctx context.Context) <-chan booted {
	return later(func() booted {
		m, err := k.boot(ctx)
		return booted{m, err}
	})
}

// again waits in the background until the machine can be used again.
func (k *keeper) again(ctx context.Context, m runner, r *request) <-chan booted {
	return later(func() booted {
		err := m.ready()
		if err == nil {
			return booted{m: m}
		}
		m.close()
		if ctx.Err() == nil {
			fmt.Fprintf(k.log, "lab: after %s: the machine cannot be reset: %v; booting another\n", r.name(), err)
		}
		m, err = k.boot(ctx)
		return booted{m, err}
	})
}

func later(f func() booted) <-chan booted {
	c := make(chan booted, 1)
	go func() { c <- f() }()
	return c
}

func already(b booted) <-chan booted { return later(func() booted { return b }) }
