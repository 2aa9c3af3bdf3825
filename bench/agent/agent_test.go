// SPDX-License-Identifier: MIT

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/results"
)

// client is a controller that talks to an agent in this process.
type client struct {
	t     *testing.T
	enc   *wire.Encoder
	in    *io.PipeWriter
	got   chan wire.Response
	ended chan error
	id    int
}

// serve starts an agent; the test's end ends it.
func serve(t *testing.T) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, enc: wire.NewEncoder(inW), in: inW, got: make(chan wire.Response, 100), ended: make(chan error, 1)}
	go func() {
		err := Serve(context.Background(), inR, outW)
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
	case <-time.After(10 * time.Second):
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
func (c *client) end(within time.Duration) error {
	c.t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(within):
		c.t.Fatalf("the agent did not end within %v", within)
	}
	panic("unreachable")
}

func rxSpec() wire.EndSpec {
	return wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 20}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}
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

func TestHelloComesFirst(t *testing.T) {
	for _, op := range []wire.Op{wire.OpClock, wire.OpModes, wire.OpOpen, wire.OpRun, wire.OpAbort, wire.OpClose, "nonsense", ""} {
		c := serve(t)
		c.refused(op, `{}`, "say hello first")
	}
}

func TestHello(t *testing.T) {
	c := serve(t)
	var h wire.HelloResult
	c.ok(wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: version.Tool()}, &h)
	if h.PID != os.Getpid() || h.ToolVersion != version.Tool() || h.NetNS == "" || len(h.OnlineCPUs) == 0 || h.Env.BootID == "" || h.Env.Kernel == "" {
		t.Errorf("identity lacks something: %+v", h)
	}
}

func TestVersionsDiffer(t *testing.T) {
	// One that says more than this version reads.
	newer := serve(t).refused(wire.OpHello, `{"version":99,"tool_version":"v99.0","colour":"red"}`, "versions differ", "v99.0 (protocol 99)", version.Tool())
	if newer.How == "" {
		t.Error("no fix for a newer controller")
	}
	serve(t).refused(wire.OpHello, fmt.Sprintf(`{"version":%d,"tool_version":%q,"colour":"red"}`, wire.Version, version.Tool()), "colour")
	for _, h := range []wire.Hello{{Version: wire.Version + 1, ToolVersion: version.Tool()}, {Version: wire.Version, ToolVersion: "v0.0.1-other"}} {
		c := serve(t)
		e := c.refused(wire.OpHello, h, h.ToolVersion, version.Tool())
		if e.How == "" {
			t.Errorf("no fix for %+v", h)
		}
		// Still a stranger.
		c.refused(wire.OpClock, nil, "say hello first")
	}
}

func TestBadRequests(t *testing.T) {
	c := greeted(t)
	c.refused("dance", nil, `unknown request "dance"`)
	c.refused(wire.OpOpen, nil, "open", "parameters missing")
	c.refused(wire.OpOpen, `{"role":"rx","nosuch":1}`, "open", "byte", "nosuch")
	c.refused(wire.OpOpen, `{"role":7}`, "open", "byte")
	c.refused(wire.OpOpen, `{}`, "unknown role")
	c.refused(wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "nosuch"}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}, "nosuch", "tcp-trunc")
	c.refused(wire.OpRun, nil, "run", "parameters missing")
	c.refused(wire.OpRun, `{"nosuch":1}`, "run", "nosuch")
	c.refused(wire.OpRun, `{}`, "no end is open")
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
	if e := c.refused(wire.OpOpen, s); e.Verdict != results.Unsupported || e.How == "" || strings.HasPrefix(e.Message, "devmem") {
		t.Errorf("open of an unsupported mode: %+v", e)
	}
	c.openRX() // nothing was kept
}

func TestOneEndAtATime(t *testing.T) {
	c := greeted(t)
	addr := c.openRX()
	c.refused(wire.OpOpen, rxSpec(), "open already")
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
	run := c.send(wire.OpRun, wire.Schedule{})
	c.refusedWhileRunning(run)
	abort := c.send(wire.OpAbort, nil)
	var r wire.EndResult
	for range 2 { // in any order
		select {
		case a := <-c.got:
			switch a.ID {
			case run:
				if err := a.Decode(&r); err != nil {
					t.Fatal(err)
				}
			case abort:
			default:
				t.Fatalf("answer to %d", a.ID)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("abort did not end the run")
		}
	}
	if r.Verdict != results.Failed || !strings.Contains(r.Reason, stream.ErrAborted.Error()) {
		t.Errorf("aborted run: %s: %q", r.Verdict, r.Reason)
	}
	c.refused(wire.OpRun, wire.Schedule{}, "no end is open") // it has run
	c.ok(wire.OpClose, nil, nil)
	if !free(addr) {
		t.Errorf("%s still listens", addr)
	}
}

func (c *client) refusedWhileRunning(run int) {
	c.t.Helper()
	c.refused(wire.OpRun, wire.Schedule{}, "no end is open that has not run yet")
	c.refused(wire.OpClose, nil, "still runs")
	c.refused(wire.OpOpen, rxSpec(), "open already")
}

// A controller that calls a run off may be faster than its own request to run.
func TestAbortBeforeRun(t *testing.T) {
	c := greeted(t)
	c.openRX()
	c.ok(wire.OpAbort, nil, nil)
	var r wire.EndResult
	c.ok(wire.OpRun, wire.Schedule{PeerWaitNs: int64(time.Minute)}, &r)
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

func TestEndOfInputEndsEverything(t *testing.T) {
	for _, state := range []string{"greeted", "open", "waiting", "flowing"} {
		t.Run(state, func(t *testing.T) {
			c := greeted(t)
			addr := ""
			if state != "greeted" {
				addr = c.openRX()
			}
			if state == "waiting" || state == "flowing" {
				c.send(wire.OpRun, wire.Schedule{})
				c.refused(wire.OpClose, nil, "still runs")
			}
			if state == "flowing" {
				tx := greeted(t)
				tx.ok(wire.OpOpen, wire.EndSpec{Role: stream.TX, Cell: results.Cell{TX: "tcp", MessageBytes: 1 << 16, PaceBitsPS: 200e6}, Addr: addr, Flows: wire.OneFlow(-1)}, nil)
				run := tx.send(wire.OpRun, wire.Schedule{DurationNs: int64(time.Minute), PeerWaitNs: int64(2 * time.Second)})
				defer func() {
					var r wire.EndResult
					if err := tx.answer(run).Decode(&r); err != nil || r.Verdict != results.Failed || r.Reason == "" {
						t.Errorf("sender whose receiver left: %v, %s: %q", err, r.Verdict, r.Reason)
					}
				}()
				time.Sleep(150 * time.Millisecond)
			}
			c.in.Close()
			if err := c.end(3 * time.Second); err != nil {
				t.Errorf("end of input: %v", err)
			}
			if addr != "" && !free(addr) {
				t.Errorf("%s still listens", addr)
			}
		})
	}
}

func TestGarbage(t *testing.T) {
	hello := `{"id":1,"op":"hello","params":{"version":1,"tool_version":"` + version.Tool() + `"}}` + "\n"
	for _, x := range []struct{ name, in, want string }{
		{"words", "hello there\n", "message 1: byte"},
		{"after a good one", hello + "{]\n", "message 2: byte"},
		{"blank line", hello + "\n" + hello, "message 2"},
		{"more after the object", `{"id":1,"op":"clock"} {"id":2}` + "\n", "message 1: byte 21"},
		{"unknown field", `{"id":1,"op":"clock","colour":"red"}` + "\n", "colour"},
		{"wrong type", `{"id":"one","op":"clock"}` + "\n", "message 1"},
		{"cut off", `{"id":1,"op":"clock"}`, "cut off after 21 bytes"},
		{"binary", "\x00\xff\x16\x03\x01\n", "message 1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := Serve(t.Context(), strings.NewReader(x.in), io.Discard)
			if err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), "standard input: ") {
				t.Errorf("%v, want an error about standard input with %q", err, x.want)
			}
		})
	}
}

func TestEndlessLine(t *testing.T) {
	err := Serve(t.Context(), io.LimitReader(zeros{}, 1<<40), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("endless line: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestBrokenOutputEndsTheAgent(t *testing.T) {
	broken := errors.New("broken")
	in := strings.NewReader(strings.Repeat(`{"id":1,"op":"clock"}`+"\n", 3))
	if err := Serve(t.Context(), in, failing{broken}); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestInterfacesHaveLoopback(t *testing.T) {
	is, err := Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range is {
		if i.Loopback {
			if i.Name != "lo" || i.MTU == 0 || i.Up && (len(i.Addrs) == 0 || i.Addrs[0] != "127.0.0.1") {
				t.Errorf("loopback: %+v", i)
			}
			return
		}
	}
	t.Errorf("no loopback interface in %+v", is)
}

// FuzzServe feeds an agent anything. It must answer or end, and never panic.
// Requests that open sockets, try the kernel's features, or set anything on the host
// are left to the tests; journals are looked for in a folder of its own.
func FuzzServe(f *testing.F) {
	f.Setenv(lease.DirEnv, f.TempDir())
	hello := `{"id":1,"op":"hello","params":{"version":1,"tool_version":"` + version.Tool() + `"}}` + "\n"
	for _, s := range []string{"", "\n", "null\n", "[]\n", hello, hello + `{"id":2,"op":"clock"}` + "\n", hello + `{"id":3,"op":"run","params":{"duration_ns":1}}` + "\n",
		hello + `{"id":4,"op":"abort"}` + "\n" + `{"id":5,"op":"close"}` + "\n", hello + `{"id":6,"op":"addrs"}`, `{"id":1e99}` + "\n", `{"op":"hello","params":null}` + "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for line := range strings.Lines(string(b)) {
			var r wire.Request
			_ = json.Unmarshal([]byte(line), &r)
			switch r.Op {
			case wire.OpOpen, wire.OpModes, wire.OpCheck, wire.OpLadders, wire.OpRecord, wire.OpSet, wire.OpRestore, wire.OpOwed, wire.OpFinish, wire.OpPowerStart:
				t.Skip()
			}
		}
		var out strings.Builder
		err := Serve(t.Context(), strings.NewReader(string(b)), &out)
		if err == nil && strings.Count(out.String(), "\n") != strings.Count(string(b), "\n") {
			t.Errorf("%d answers to %d requests", strings.Count(out.String(), "\n"), strings.Count(string(b), "\n"))
		}
	})
}

func TestSetIsCheckedAndNotUnderAnEnd(t *testing.T) {
	c := greeted(t)
	c.refused(wire.OpSet, `{"values":[{"name":"mtu","value":"1500"}]}`, "no interface")
	c.refused(wire.OpSet, `{"dev":"lo","values":[{"name":"mtu","value":"-1"}]}`, "-1")
	c.refused(wire.OpSet, `{"nonsense":1}`, "nonsense")
	c.refused(wire.OpSet, `{"dev":"no-such-if","values":[{"name":"mtu","value":"1500"}]}`, "find interface no-such-if")
	r := c.refused(wire.OpSet, `{"values":[{"name":"sysctl kernel.core_pattern","value":"|/x %p"}]}`, `sysctl "kernel.core_pattern" is not set by zcbench`)
	if r.Verdict != results.Unsupported || !strings.Contains(r.Fix(), "net.*") {
		t.Errorf("%+v", r)
	}
	c.refused(wire.OpSet, `{"values":[{"name":"governor","value":"../x"}]}`, "no name of a governor")
	c.ok(wire.OpSet, wire.Settings{}, nil)
	c.openRX()
	c.refused(wire.OpSet, wire.Settings{Values: []wire.Setting{{Name: "sysctl vm.nr_hugepages", Value: "1"}}}, "close it first")
}

// A signal ends the agent, which may wait for a request at that moment.
func TestContextEndsTheAgent(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, in, io.Discard) }()
	because := errors.New("a signal")
	cancel(because)
	select {
	case err := <-ended:
		if !errors.Is(err, because) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it goes on")
	}
}

func TestRoute(t *testing.T) {
	c := greeted(t)
	var r wire.Route
	c.ok(wire.OpRoute, wire.RouteParams{Addr: "127.0.0.1"}, &r)
	if r.Dev != "lo" {
		t.Errorf("127.0.0.1 is reached by %q", r.Dev)
	}
	c.refused(wire.OpRoute, wire.RouteParams{Addr: "hosta"}, `"hosta" is no address`)
	c.refused(wire.OpRoute, nil, "parameters missing")
}

// The CPUs next to an interface are of this machine.
func TestInterfacesHaveCPUs(t *testing.T) {
	is, err := Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range is {
		if len(i.NearCPUs) == 0 || slices.ContainsFunc(i.NearCPUs, func(c int) bool { return checkOnline(c) != nil }) {
			t.Errorf("%s: CPUs %v", i.Name, i.NearCPUs)
		}
	}
}

func checkOnline(cpu int) error {
	return endpoint.Check(wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp"}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(cpu)})
}
