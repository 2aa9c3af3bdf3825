// SPDX-License-Identifier: MIT

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestEndOfInputEndsEverything(t *testing.T) {
	for _, state := range []string{"greeted", "open", "waiting", "flowing"} {
		t.Run(state, func(t *testing.T) {
			c := greeted(t)
			addr := ""
			if state != "greeted" {
				addr = c.openRX()
			}
			if state == "waiting" || state == "flowing" {
				c.send(wire.OpRun, endless)
				c.refused(wire.OpClose, nil, "still running")
			}
			if state == "flowing" {
				tx := greeted(t)
				tx.ok(wire.OpOpen, wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "tcp", MessageBytes: 1 << 16,
					PaceBitsPS: 200e6}, Addr: addr, Flows: wire.OneFlow(-1)}, nil)
				run := tx.send(wire.OpRun, endless)
				defer func() {
					var r wire.EndResult
					if err := tx.answer(run).Decode(&r); err != nil || r.Verdict != results.Failed || r.Reason == "" {
						t.Errorf("sender whose receiver left: %v, %s: %q", err, r.Verdict, r.Reason)
					}
				}()
				c.flows()
				tx.flows()
			}
			c.in.Close()
			if err := c.end(); err != nil {
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
			if err == nil || !strings.Contains(err.Error(), x.want) ||
				!strings.HasPrefix(err.Error(), "standard input: ") {
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

// FuzzServe feeds an agent anything. It must answer or end, and never panic.
// Requests that open sockets, try the kernel's features, or set anything on the host
// are left to the tests; journals are looked for in a folder of its own.
func FuzzServe(f *testing.F) {
	f.Setenv(lease.DirEnv, f.TempDir())
	hello := `{"id":1,"op":"hello","params":{"version":1,"tool_version":"` + version.Tool() + `"}}` + "\n"
	for _, s := range []string{"", "\n", "null\n", "[]\n", hello, hello + `{"id":2,"op":"clock"}` + "\n",
		hello + `{"id":3,"op":"run","params":{"duration_ns":1}}` + "\n",
		hello + `{"id":4,"op":"abort"}` + "\n" + `{"id":5,"op":"close"}` + "\n", hello + `{"id":6,"op":"addrs"}`,
		`{"id":1e99}` + "\n", `{"op":"hello","params":null}` + "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for line := range strings.Lines(string(b)) {
			var r wire.Request
			_ = json.Unmarshal([]byte(line), &r)
			switch r.Op {
			case wire.OpOpen, wire.OpModes, wire.OpCheck, wire.OpLadders, wire.OpRecord, wire.OpSet, wire.OpRestore,
				wire.OpOwed, wire.OpFinish, wire.OpPowerStart:
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

// A signal ends the agent, which may wait for a request at that moment.
func TestContextEndsTheAgent(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, in, io.Discard) }()
	because := errors.New("a signal")
	cancel(because)
	if err := await.Chan(t, "the agent's end", ended); !errors.Is(err, because) {
		t.Errorf("it ended with %v", err)
	}
}
