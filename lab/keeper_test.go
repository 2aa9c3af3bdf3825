// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zcbench/zcbench/lab/guest"
)

// fakeMachine runs what a test says.
type fakeMachine struct {
	n      int // which boot
	do     func(ctx context.Context, name string) outcome
	again  func() error // what ready says
	dead   bool
	closed bool
}

func (m *fakeMachine) run(ctx context.Context, r *request) outcome { return m.do(ctx, r.job.Args[0]) }
func (m *fakeMachine) ready() error                                { return m.again() }
func (m *fakeMachine) alive() bool                                 { return !m.dead }
func (m *fakeMachine) close()                                      { m.closed = true }

// bench is a keeper whose boots and commands are noted.
type bench struct {
	*keeper
	log   bytes.Buffer
	boots []*fakeMachine
	ran   []string // boot and name
	fail  error    // of the next boot
	again error    // of what follows a command
	stop  func()
}

// newBench starts a keeper, whose first boot may fail; commands do as they are called.
func newBench(t *testing.T, fail error) *bench {
	b := &bench{fail: fail}
	ctx, cancel := context.WithCancel(t.Context())
	b.keeper = newKeeper(func(ctx context.Context) (runner, error) {
		if err := b.fail; err != nil {
			b.fail = nil
			return nil, err
		}
		m := &fakeMachine{n: len(b.boots) + 1, again: func() error { return b.again }}
		m.do = func(ctx context.Context, name string) outcome { return b.do(ctx, m, name) }
		b.boots = append(b.boots, m)
		return m, nil
	}, &b.log)
	done := make(chan struct{})
	go func() { defer close(done); b.loop(ctx) }()
	b.stop = func() { cancel(); <-done }
	return b
}

func (b *bench) do(ctx context.Context, m *fakeMachine, name string) outcome {
	b.ran = append(b.ran, fmt.Sprintf("%d:%s", m.n, name))
	switch name {
	case "spoils":
		return outcome{exit: ExitTrouble, err: errors.New("oops"), spoiled: "the kernel complained"}
	case "waits":
		<-ctx.Done()
		return outcome{exit: ExitTrouble, err: context.Cause(ctx), spoiled: context.Cause(ctx).Error()}
	}
	return outcome{exit: len(name)}
}

func (b *bench) ask(ctx context.Context, name string) outcome {
	return b.run(ctx, &request{job: guest.Job{Args: []string{name}}})
}

func (b *bench) check(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(b.ran, " "); got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
	b.stop()
	for _, m := range b.boots {
		if !m.closed {
			t.Errorf("machine %d is still there", m.n)
		}
	}
}

func TestKeeperOneBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		for _, name := range []string{"a", "bb", "ccc"} {
			if out := b.ask(t.Context(), name); out.exit != len(name) || out.err != nil {
				t.Errorf("%s: %+v", name, out)
			}
		}
		b.check(t, "1:a 1:bb 1:ccc")
	})
}

func TestKeeperReplacesSpoiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.ask(t.Context(), "a")
		if out := b.ask(t.Context(), "spoils"); out.exit != ExitTrouble || out.err == nil {
			t.Errorf("%+v", out)
		}
		synctest.Wait()
		if len(b.boots) != 2 || !b.boots[0].closed {
			t.Errorf("%d boots; another must boot at once, without the old one", len(b.boots))
		}
		b.ask(t.Context(), "b")
		if !strings.Contains(b.log.String(), "after spoils: the kernel complained") {
			t.Errorf("told %q", b.log.String())
		}
		b.check(t, "1:a 1:spoils 2:b")
	})
}

func TestKeeperReplacesUncleaned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.again = errors.New("a file stays")
		b.ask(t.Context(), "a")
		synctest.Wait()
		b.again = nil
		b.ask(t.Context(), "b")
		if !strings.Contains(b.log.String(), "after a: the machine cannot be reset: a file stays") {
			t.Errorf("told %q", b.log.String())
		}
		b.check(t, "1:a 2:b")
	})
}

// A machine that dies while it has nothing to do costs no command.
func TestKeeperReplacesDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.ask(t.Context(), "a")
		synctest.Wait()
		b.boots[0].dead = true
		if out := b.ask(t.Context(), "bb"); out.exit != 2 || out.err != nil {
			t.Errorf("%+v", out)
		}
		if !strings.Contains(b.log.String(), "lab: the idle machine exited; booting another") {
			t.Errorf("told %q", b.log.String())
		}
		b.check(t, "1:a 2:bb")
	})
}

// A boot that fails costs one command, not the next.
func TestKeeperBootFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &Error{"boot", errSlow, ""})
		synctest.Wait()
		if out := b.ask(t.Context(), "a"); out.exit != ExitTimeout || !errors.Is(out.err, errSlow) {
			t.Errorf("%+v", out)
		}
		b.ask(t.Context(), "b")
		b.check(t, "1:b")
	})
}

// Commands wait in a queue, in the order in which they came; who leaves it is not run.
func TestKeeperQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		first, leaveFirst := context.WithCancelCause(t.Context())
		third, leaveThird := context.WithCancel(t.Context())
		ask := func(ctx context.Context, name string) <-chan outcome {
			c := make(chan outcome, 1)
			go func() { c <- b.ask(ctx, name) }()
			synctest.Wait()
			return c
		}
		one, two, three, four := ask(first, "waits"), ask(t.Context(), "bb"), ask(third, "ccc"),
			ask(t.Context(), "dddd")
		leaveThird()
		if out := <-three; out.err == nil {
			t.Error("who left the queue was told that all is well")
		}
		leaveFirst(errLeft)
		if out := <-one; !errors.Is(out.err, errLeft) {
			t.Errorf("%+v", out)
		}
		if a, b := <-two, <-four; a.exit != 2 || b.exit != 4 {
			t.Errorf("%+v, %+v", a, b)
		}
		b.check(t, "1:waits 2:bb 2:dddd")
	})
}

// The end of lab up ends the command that runs, and the machine.
func TestKeeperStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		c := make(chan outcome, 1)
		go func() { c <- b.ask(ctx, "waits") }()
		synctest.Wait()
		cancel() // as the context of a connection does, which is lab up's
		<-c
		b.check(t, "1:waits")
	})
}
