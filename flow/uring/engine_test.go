// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// testEngine is the engine of the rings that the running test makes.
var testEngine Engine

// eachEngine runs a test, one of the table that all engines share, for each
// engine that is built in.
func eachEngine[T interface {
	*testing.T | *testing.B
	Run(string, func(T)) bool
}](t T, f func(T)) {
	for _, e := range Engines() {
		t.Run(string(e), func(t T) {
			testEngine = e
			defer func() { testEngine = "" }()
			f(t)
		})
	}
}

// open is New with the engine under test. It leaves out what only makes a ring
// cheaper and the engine lacks.
func open(o Options) (*Ring, error) {
	o.Engine = testEngine
	if lacks(lackNoSQArray) {
		o.NoSQArray = false
	}
	return New(o)
}

func lacks(what string) bool { return slices.Contains(testEngine.Lacks(), what) }

func TestEngines(t *testing.T) {
	all := Engines()
	if all[0] != Native || len(all) > len(knownEngines) {
		t.Errorf("built in: %v", all)
	}
	for _, e := range append([]Engine{""}, all...) {
		if err := e.Check(); err != nil {
			t.Errorf("%q: %v", e, err)
		}
	}
	for _, c := range []struct {
		e    Engine
		want string
	}{{"nosuch", "the engines are native, giouring"}, {"Native", "unknown"}} {
		if err := c.e.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.e, err)
		}
		if r, err := New(Options{Engine: c.e}); err == nil {
			t.Errorf("made a ring with the engine %q", c.e)
			r.Close()
		}
	}
	if slices.Contains(all, Giouring) {
		return
	}
	if _, err := New(Options{Engine: Giouring}); err == nil || !strings.Contains(err.Error(), "not built in") ||
		!strings.Contains(err.Error(), "-tags giouring") {
		t.Errorf("an engine that is not built in: %v", err)
	}
}

// A ring says what made it, and what that cannot do is an error that says so.
func TestEngineOfRing(t *testing.T) { eachEngine(t, testEngineOfRing) }

func testEngineOfRing(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4})
	if r.Engine() != testEngine {
		t.Errorf("asked for %s, made %s", testEngine, r.Engine())
	}
	if lacks(lackNoIowait) && r.NoIowait() {
		t.Error("claims IORING_ENTER_NO_IOWAIT")
	}
	if lacks(lackGather) && r.Gathers() {
		t.Error("claims IORING_FEAT_MIN_TIMEOUT")
	}
	refused := map[string]error{}
	n, err := New(Options{Engine: testEngine, NoSQArray: true})
	if err == nil {
		n.Close()
	}
	refused[lackNoSQArray] = err
	refused[lackResize] = r.Resize(8, 0)
	for what, err := range refused {
		if lacks(what) && (!errors.Is(err, unix.EINVAL) || !strings.Contains(told(err), string(testEngine)) ||
			!strings.Contains(told(err), "use the engine native")) {
			t.Errorf("%s: %v", what, err)
		}
		if !lacks(what) && err != nil && strings.Contains(told(err), "the engine does not support") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// NewBest leaves out what an engine lacks, and nothing else of it.
func TestNewBestOfEngine(t *testing.T) { eachEngine(t, testNewBestOfEngine) }

func testNewBestOfEngine(t *testing.T) {
	if f := Probe().NoSQArray; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	runtime.LockOSThread() // its only submitter
	defer runtime.UnlockOSThread()
	r, err := NewBest(Options{Engine: testEngine, SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, NoSQArray: true,
		RegisterFD: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Engine() != testEngine || !r.DeferTaskrun() || !r.registered ||
		(r.setup&setupNoSQArray != 0) == lacks(lackNoSQArray) {
		t.Errorf("engine %s, flags %#x, registered %v", r.Engine(), r.setup, r.registered)
	}
}
