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

	"github.com/zcbench/zcbench/plan"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
)

// An agent that ignores the end of its input is killed.
func TestCloseKillsTheDeaf(t *testing.T) {
	o := options()
	o.Binary, o.Limits.End = agentThat(t, "is deaf"), 200*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dialed := make(chan error, 1)
	go func() { _, err := host.Dial(ctx, "local", o); dialed <- err }()
	await.Until(t, "the agent's start", func() bool { return processesOf(o.Binary) > 0 })
	most := processesOf(o.Binary)
	cancel()
	err := await.Chan(t, "the end of Dial", dialed)
	if left := processesOf(o.Binary); err == nil || most != 1 || left != 0 {
		t.Errorf("%v; %d were seen alive, and %d live", err, most, left)
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
	h := dialBad(t, "cannot restore", patient)
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), "host local: ") ||
		!strings.Contains(err.Error(), "mtu of eth0: it is stuck") {
		t.Errorf("%v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// hold lets an agent have something that it must give back.
func hold(t *testing.T, h *host.Host) {
	t.Helper()
	spec := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0",
		Flows: wire.OneFlow(-1)}
	if err := h.Call(t.Context(), wire.OpOpen, spec, nil); err != nil {
		t.Fatal(err)
	}
}

// An agent that is killed ends the calls that wait for it.
func TestAgentKilled(t *testing.T) {
	h := dial(t, "local")
	if err := h.Call(t.Context(), wire.OpOpen,
		wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0",
			Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Call(t.Context(), wire.OpRun, wire.Schedule{}, nil) }()
	await.Pause("so that the call is under way; before, it ends the same", 50*time.Millisecond)
	unix.Kill(h.PID(), unix.SIGKILL)
	if err := await.Chan(t, "the call's end", ended); err == nil || !strings.Contains(err.Error(), "host local") ||
		!strings.Contains(err.Error(), "killed") {
		t.Errorf("call to a killed agent: %v", err)
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
	if err := h.Call(t.Context(), wire.OpOpen,
		wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0",
			Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	if err := h.Call(ctx, wire.OpRun, wire.Schedule{}, nil); err == nil ||
		!strings.Contains(err.Error(), "no more time") {
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
		await.Pause("so that the late answer comes between two calls", time.Millisecond)
	}
}
