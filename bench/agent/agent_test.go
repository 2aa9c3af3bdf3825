// SPDX-License-Identifier: MIT

package agent

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestHelloComesFirst(t *testing.T) {
	for _, op := range []wire.Op{wire.OpClock, wire.OpModes, wire.OpOpen, wire.OpRun, wire.OpAbort, wire.OpClose,
		"nonsense", ""} {
		c := serve(t)
		c.refused(op, `{}`, "hello must come first")
	}
}

func TestHello(t *testing.T) {
	c := serve(t)
	var h wire.HelloResult
	c.ok(wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: version.Tool()}, &h)
	if h.PID != os.Getpid() || h.ToolVersion != version.Tool() || h.NetNS == "" || len(h.OnlineCPUs) == 0 ||
		h.Env.BootID == "" || h.Env.Kernel == "" {
		t.Errorf("identity lacks something: %+v", h)
	}
}

func TestVersionsDiffer(t *testing.T) {
	// One that says more than this version reads.
	newer := serve(t).refused(wire.OpHello, `{"version":99,"tool_version":"v99.0","colour":"red"}`, "versions differ",
		"v99.0 (protocol 99)", version.Tool())
	if newer.How == "" {
		t.Error("no fix for a newer controller")
	}
	serve(t).refused(wire.OpHello, fmt.Sprintf(`{"version":%d,"tool_version":%q,"colour":"red"}`, wire.Version,
		version.Tool()), "colour")
	for _, h := range []wire.Hello{{Version: wire.Version + 1, ToolVersion: version.Tool()},
		{Version: wire.Version, ToolVersion: "v0.0.1-other"}} {
		c := serve(t)
		e := c.refused(wire.OpHello, h, h.ToolVersion, version.Tool())
		if e.How == "" {
			t.Errorf("no fix for %+v", h)
		}
		// Still a stranger.
		c.refused(wire.OpClock, nil, "hello must come first")
	}
}

func TestBadRequests(t *testing.T) {
	c := greeted(t)
	c.refused("dance", nil, `unknown request "dance"`)
	c.refused(wire.OpOpen, nil, "open", "parameters missing")
	c.refused(wire.OpOpen, `{"role":"rx","nosuch":1}`, "open", "byte", "nosuch")
	c.refused(wire.OpOpen, `{"role":7}`, "open", "byte")
	c.refused(wire.OpOpen, `{}`, "unknown role")
	c.refused(wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "nosuch"}, Addr: "127.0.0.1:0",
		Flows: wire.OneFlow(-1)}, "nosuch", "tcp-trunc")
	c.refused(wire.OpRun, nil, "run", "parameters missing")
	c.refused(wire.OpRun, `{"nosuch":1}`, "run", "nosuch")
	c.refused(wire.OpRun, `{}`, "no open end")
	c.ok(wire.OpAbort, nil, nil) // nothing to abort
	c.ok(wire.OpClose, nil, nil) // nothing to close
	c.openRX()                   // and it still works
}

func TestUnsupportedModeSaysSo(t *testing.T) {
	c := greeted(t)
	s := rxSpec()
	s.Cell.RX = "devmem"
	var ms []wire.ModeSupport
	c.ok(wire.OpModes, nil, &ms)
	for _, m := range ms {
		if !m.Supported && (m.Reason == "" || m.Fix == "") {
			t.Errorf("%s %s is unsupported without reason or fix: %+v", m.Role, m.Name, m)
		}
		if m.Role == stream.RX && m.Name == s.Mode() && m.Supported {
			t.Skip("devmem works here")
		}
	}
	if e := c.refused(wire.OpOpen, s); e.Verdict != results.Unsupported || e.How == "" ||
		strings.HasPrefix(e.Message, "devmem") {
		t.Errorf("open of an unsupported mode: %+v", e)
	}
	c.openRX() // nothing was kept
}

func TestOneEndAtATime(t *testing.T) {
	c := greeted(t)
	addr := c.openRX()
	c.refused(wire.OpOpen, rxSpec(), "already open")
	c.ok(wire.OpClose, nil, nil)
	if !free(addr) {
		t.Errorf("%s still listens after close", addr)
	}
	c.openRX()
}

// An end that could not be opened leaves no half behind.
func TestFailedOpenFreesThePort(t *testing.T) {
	c := greeted(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	s := rxSpec()
	s.Addr = addr
	if e := c.refused(wire.OpOpen, s, addr, "address already in use"); e.How == "" {
		t.Error("port in use: no fix")
	}
	l.Close()
	c.ok(wire.OpOpen, s, nil)
}

func TestAbort(t *testing.T) {
	c := greeted(t)
	addr := c.openRX()
	run := c.send(wire.OpRun, endless)
	c.refusedWhileRunning(run)
	abort := c.send(wire.OpAbort, nil)
	var r wire.EndResult
	for range 2 { // in any order
		switch a := await.Chan(t, "the answers to the run and its abort", c.got); a.ID {
		case run:
			if err := a.Decode(&r); err != nil {
				t.Fatal(err)
			}
		case abort:
		default:
			t.Fatalf("answer to %d", a.ID)
		}
	}
	if r.Verdict != results.Failed || !strings.Contains(r.Reason, stream.ErrAborted.Error()) {
		t.Errorf("aborted run: %s: %q", r.Verdict, r.Reason)
	}
	c.refused(wire.OpRun, wire.Schedule{}, "no open end") // it has run
	c.ok(wire.OpClose, nil, nil)
	if !free(addr) {
		t.Errorf("%s still listens", addr)
	}
}

func (c *client) refusedWhileRunning(run int) {
	c.t.Helper()
	c.refused(wire.OpRun, wire.Schedule{}, "run: no open end is left to run")
	c.refused(wire.OpClose, nil, "still running")
	c.refused(wire.OpOpen, rxSpec(), "already open")
}

// A controller that calls a run off may be faster than its own request to run.
func TestAbortBeforeRun(t *testing.T) {
	c := greeted(t)
	c.openRX()
	c.ok(wire.OpAbort, nil, nil)
	var r wire.EndResult
	c.ok(wire.OpRun, endless, &r)
	if !strings.Contains(r.Reason, stream.ErrAborted.Error()) {
		t.Errorf("run after abort: %s: %q", r.Verdict, r.Reason)
	}
	c.ok(wire.OpClose, nil, nil)
	// The next end is not called off.
	c.openRX()
	c.ok(wire.OpRun, wire.Schedule{PeerWaitNs: int64(50 * time.Millisecond)}, &r)
	if strings.Contains(r.Reason, stream.ErrAborted.Error()) {
		t.Errorf("an abort outlived its end: %q", r.Reason)
	}
}

func TestSetIsCheckedAndNotUnderAnEnd(t *testing.T) {
	c := greeted(t)
	c.refused(wire.OpSet, `{"values":[{"name":"mtu","value":"1500"}]}`, "no interface")
	c.refused(wire.OpSet, `{"dev":"lo","values":[{"name":"mtu","value":"-1"}]}`, "-1")
	c.refused(wire.OpSet, `{"nonsense":1}`, "nonsense")
	c.refused(wire.OpSet, `{"dev":"lo","more":[{"dev":"a/b"}]}`, "a/b")
	c.refused(wire.OpSurvey, `{"more":["a/b"]}`, "a/b")
	c.refused(wire.OpRestBegin, `{"devs":["a/b"]}`, "a/b")
	c.refused(wire.OpSet, `{"dev":"no-such-if","values":[{"name":"mtu","value":"1500"}]}`, "find interface no-such-if")
	r := c.refused(wire.OpSet, `{"values":[{"name":"sysctl kernel.core_pattern","value":"|/x %p"}]}`,
		`zcbench does not set sysctl "kernel.core_pattern"`)
	if r.Verdict != results.Unsupported || !strings.Contains(r.Fix(), "net.*") {
		t.Errorf("%+v", r)
	}
	c.refused(wire.OpSet, `{"values":[{"name":"governor","value":"../x"}]}`, "not a governor's name")
	c.ok(wire.OpSet, plan.Settings{}, nil)
	c.openRX()
	c.refused(wire.OpSet, plan.Settings{Values: []plan.Setting{{Name: "sysctl vm.nr_hugepages", Value: "1"}}},
		"close it first")
}
