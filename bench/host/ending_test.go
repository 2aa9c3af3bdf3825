// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
)

// actor is an agent of a bubble's time, without a process.
type actor struct {
	asked  chan wire.Request // closed at the end of its input
	killed chan struct{}     // closed when it is
	out    *io.PipeWriter
	said   int // whole messages that were read
}

// say answers a request, and reports whether that was read.
func (a *actor) say(id int) bool {
	if _, err := fmt.Fprintf(a.out, `{"id":%d,"result":{}}`+"\n", id); err != nil {
		return false
	}
	a.said++
	return true
}

// serve answers until the end of the input.
func (a *actor) serve() {
	for req := range a.asked {
		a.say(req.ID)
	}
}

// play is a host whose agent behaves so until it returns, or is killed: then it must return, which
// each that reads, says something or looks at killed does.
func play(l Limits, behave func(a *actor)) (*Host, *actor) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	a := &actor{asked: make(chan wire.Request, 1000), killed: make(chan struct{}), out: out}
	go func() {
		defer close(a.asked)
		for dec := wire.NewDecoder(in); ; {
			var req wire.Request
			if dec.Decode(&req) != nil {
				return
			}
			a.asked <- req
		}
	}()
	var exit error
	ended := make(chan struct{})
	kill := sync.OnceFunc(func() {
		exit = errors.New("signal: killed")
		close(a.killed)
		in.Close()
		out.Close()
	})
	go func() {
		defer close(ended)
		behave(a)
		out.Close()
	}()
	p := &process{stdin: stdin, stdout: bufio.NewReader(stdout), stderr: &tail{}, kill: kill}
	p.wait = func() error { <-ended; return exit }
	h := &Host{Spec: Spec{Kind: "local", Name: "local"}, spec: "local", opt: Options{Limits: l}}
	h.link.Store(h.newLink(p))
	return h, a
}

// holding lets the agent have something that it must give back.
func holding(t *testing.T, h *Host) {
	t.Helper()
	if err := h.Call(t.Context(), wire.OpOpen, wire.EndSpec{}, nil); err != nil {
		t.Fatal(err)
	}
}

// closedIn closes hosts, which must take exactly so long of a bubble's time.
func closedIn(t *testing.T, want time.Duration, end func() error) error {
	t.Helper()
	begun := time.Now()
	err := end()
	if took := time.Now(); !took.Equal(begun.Add(want)) {
		t.Errorf("closed in %v, want %v", took.Sub(begun), want)
	}
	return err
}

// An agent that takes its time to restore what it has set is not killed, as long as it says so.
func TestCloseWaitsForWhoRestores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := play(Limits{End: 2500 * time.Millisecond}, func(a *actor) {
			a.serve()
			for range 6 {
				a.say(wire.Ending)
				time.Sleep(500 * time.Millisecond)
			}
		})
		holding(t, h)
		if err := closedIn(t, 3*time.Second, h.Close); err != nil {
			t.Error(err)
		}
		if err := h.Err(); err == nil || strings.Contains(err.Error(), "killed") {
			t.Errorf("%v", err)
		}
	})
}

// One that says it without end is waited for as long as a change may take; where it holds nothing,
// what it says changes nothing.
func TestCloseOfThePolite(t *testing.T) {
	for holds, want := range map[bool]time.Duration{false: 1200 * time.Millisecond, true: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h, _ := play(Limits{End: 1200 * time.Millisecond, Change: 3 * time.Second}, func(a *actor) {
				a.serve()
				for a.say(wire.Ending) {
					select {
					case <-time.After(wire.EndingEvery):
					case <-a.killed:
					}
				}
			})
			if holds {
				holding(t, h)
			}
			if err := closedIn(t, want, h.Close); err == nil || !strings.Contains(err.Error(), "was killed") {
				t.Errorf("holds %v: %v", holds, err)
			}
		})
	}
}

// One that floods us with it delays nothing, and does not keep us busy: no more of it is read.
func TestCloseOfFloods(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, holds := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				now := make(chan struct{})
				h, a := play(Limits{End: 500 * time.Millisecond, Change: time.Hour}, func(a *actor) {
					if early {
						var serving sync.WaitGroup
						defer serving.Wait()
						serving.Go(func() {
							for req := range a.asked { // what is asked after the flood is not answered
								if req.Op == wire.OpOpen {
									fmt.Fprintf(a.out, `{"id":%d,"result":{}}`+"\n", req.ID)
								}
							}
						})
						<-now
					} else {
						a.serve()
					}
					for a.said = 0; a.say(wire.Ending); {
					}
				})
				if holds {
					holding(t, h)
				}
				if early {
					close(now)
					synctest.Wait()
					if err := h.Err(); err == nil ||
						!strings.Contains(err.Error(), "it keeps announcing its end without ending") {
						t.Errorf("%v", err)
					}
				}
				err := closedIn(t, 500*time.Millisecond, h.Close)
				if early == (err != nil) {
					t.Errorf("early %v, holds %v: %v", early, holds, err)
				}
				if a.said > 10 {
					t.Errorf("early %v, holds %v: %d messages of the flood were read", early, holds, a.said)
				}
			})
		}
	}
}

// Hosts that are slow to end are so at once.
func TestCloseAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := func(a *actor) { <-a.killed }
		a, _ := play(Limits{End: 2500 * time.Millisecond}, deaf)
		b, _ := play(Limits{End: 2 * time.Second}, deaf)
		err := closedIn(t, 2500*time.Millisecond, func() error { return CloseAll(a, nil, b) })
		if err == nil || strings.Count(err.Error(), "was killed") != 2 {
			t.Error(err)
		}
	})
}

// An agent that no longer says anything is lost when it was silent for that long, and not before;
// one that answers whether it lives is not.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := make(chan struct{})
		h, _ := play(Limits{Silence: 2 * time.Second, Alive: 100 * time.Millisecond}, func(a *actor) {
			for {
				select {
				case req := <-a.asked:
					if req.Op == wire.OpAlive {
						a.say(req.ID)
					}
				case <-frozen:
					<-a.killed
					return
				}
			}
		})
		go h.link.Load().watch()
		time.Sleep(time.Minute)
		if err := h.Err(); err != nil {
			t.Fatal(err)
		}
		close(frozen)
		begun := time.Now()
		err := h.Call(t.Context(), wire.OpModes, nil, nil)
		if took := time.Since(begun); took < 2*time.Second || took > 2200*time.Millisecond {
			t.Errorf("lost after %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), "host local: the agent is lost: no answer for 2s") {
			t.Error(err)
		}
		if err := closedIn(t, 0, h.Close); err != nil {
			t.Error(err)
		}
	})
}
