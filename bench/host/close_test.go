// SPDX-License-Identifier: MIT

package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// An agent that ignores the end of its input is killed.
func TestCloseKillsTheDeaf(t *testing.T) {
	t.Parallel() // it waits
	o := options()
	o.Binary, o.Limits.End = agentThat(t, "is deaf"), 2*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	dialed := make(chan error, 1)
	go func() { _, err := host.Dial(ctx, "local", o); dialed <- err }()
	most := 0
	for {
		select {
		case err := <-dialed:
			if left := processesOf(o.Binary); err == nil || most != 1 || left != 0 {
				t.Errorf("%v; %d were seen alive, and %d live", err, most, left)
			}
			return
		case <-time.After(10 * time.Millisecond):
			most = max(most, processesOf(o.Binary))
		}
	}
}

// processesOf are how many have been started by that name, and live.
func processesOf(name string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range all {
		if cmdline, _ := os.ReadFile(f); strings.HasPrefix(string(cmdline), name+"\x00agent\x00") {
			n++
		}
	}
	return n
}

// What an agent could not restore at its end is said, once.
func TestCloseTellsLastWords(t *testing.T) {
	h := dialBad(t, "cannot restore", host.Limits{})
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), "host local: ") || !strings.Contains(err.Error(), "mtu of eth0: it is stuck") {
		t.Errorf("%v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// hold lets an agent have something that it must give back.
func hold(t *testing.T, h *host.Host) {
	t.Helper()
	spec := wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}
	if err := h.Call(t.Context(), wire.OpOpen, spec, nil); err != nil {
		t.Fatal(err)
	}
}

// One that takes its time to restore what it has set is not, as long as it says so.
func TestCloseWaitsForWhoRestores(t *testing.T) {
	t.Parallel() // it waits
	h := dialBad(t, "restores long", host.Limits{End: 2500 * time.Millisecond})
	hold(t, h)
	begin := time.Now()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d < 2900*time.Millisecond {
		t.Errorf("it ended after %v", d)
	}
	if err := h.Err(); err == nil || strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
}

// An agent that is killed ends the calls that wait for it.
func TestAgentKilled(t *testing.T) {
	h := dial(t, "local")
	if err := h.Call(t.Context(), wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Call(t.Context(), wire.OpRun, wire.Schedule{}, nil) }()
	time.Sleep(50 * time.Millisecond)
	unix.Kill(h.PID(), unix.SIGKILL)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "host local") || !strings.Contains(err.Error(), "killed") {
			t.Errorf("call to a killed agent: %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Fatal("the call did not end")
	}
	if h.Err() == nil {
		t.Error("Err is nil after the agent's end")
	}
	if err := h.Call(t.Context(), wire.OpClock, nil, nil); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("next call: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestCallGivesUpWithItsContext(t *testing.T) {
	h := dial(t, "local")
	if err := h.Call(t.Context(), wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	if err := h.Call(ctx, wire.OpRun, wire.Schedule{}, nil); err == nil || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("%v", err)
	}
	// The late answer to the forgotten question does no harm.
	if err := h.Call(t.Context(), wire.OpAbort, nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := h.Call(t.Context(), wire.OpClock, nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}
