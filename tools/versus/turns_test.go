// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan/matrix"
)

// Each way has its time in whole ABBA, and the tools last until all had theirs.
func TestStretch(t *testing.T) {
	for _, c := range []struct {
		d, each time.Duration
		turns   int
	}{{time.Second, 50 * time.Millisecond, 10}, {time.Second, 60 * time.Millisecond, 9}, {time.Second, time.Second, 1},
		{2 * time.Second, 20 * time.Millisecond, 50}} {
		if got := matrix.RoundsOf(c.d, c.each); got != c.turns {
			t.Errorf("%v in turns of %v: %d there and back, want %d", c.d, c.each, got, c.turns)
		}
		for _, n := range []int{1, 2, 9} {
			least := time.Duration(n*2*c.turns) * c.each
			if got := stretch(n, c.d, c.each); got < least || got%time.Second != 0 {
				t.Errorf("%d ways of %v in turns of %v last %v, want whole seconds, %v or more", n, c.d, c.each, got,
					least)
			}
		}
	}
}

// What others did beside is no time of the way's; that of its own processes is, at the least. The
// payload is all from the first turn to the last.
func TestUsedMeasured(t *testing.T) {
	u := used{first: rtnl.Stats{RxBytes: 500}, last: rtnl.Stats{RxBytes: 2e9 + 500}, rx: time.Second,
		tx: 2 * time.Second, pace: 1e9, paced: time.Second}
	at := func(ns int64, idle uint64) counter.CPUSnapshot {
		return counter.CPUSnapshot{AtNs: ns, CPUs: []counter.CPUTicks{{CPU: 0, User: uint64(ns / 1e7)},
			{CPU: 1, User: uint64(ns / 1e7)}, {CPU: 2, Idle: idle}}}
	}
	u.cpus.Add(at(0, 0), at(1e9, 100))
	u.cpus.Add(at(3e9, 700), at(4e9, 800))
	got := u.measured(0.25)
	want := Measured{Gbps: 8, CPUPGB: 1.75, RxCPUPGB: 0.5, TxCPUPGB: 1, Foreign: 0.25}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := u.measured(2).CPUPGB; got != 1.5 {
		t.Errorf("CPU %v s/GB, want that of the processes, 1.5", got)
	}
}

const fakeEnd = "VERSUS_FAKE_END"

// TestFakeEnd is the tool that moves a flow below: "rx ADDR", or "tx ADDR SECONDS", where one that
// "dies" cannot go on after it was stopped, and one "until FILE" ends when that is there.
func TestFakeEnd(t *testing.T) {
	f := strings.Fields(os.Getenv(fakeEnd))
	if len(f) == 0 {
		return // it is no test
	}
	start := time.Now()
	var n int64
	if f[0] == "rx" {
		l, err := net.Listen("tcp", f[1])
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		n, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 128<<10))
	} else {
		c, err := net.Dial("tcp", f[1])
		if err != nil {
			t.Fatal(err)
		}
		d, err := time.ParseDuration(f[2])
		if err != nil {
			t.Fatal(err)
		}
		how := ""
		if len(f) > 3 {
			how = f[3]
		}
		b := make([]byte, 128<<10)
		ctx, goesOn := await.Ending(t, d), make(chan os.Signal, 1)
		if how == "dies" {
			signal.Notify(goesOn, unix.SIGCONT)
		}
		for ctx.Err() == nil && len(goesOn) == 0 {
			if how == "until" {
				if _, err := os.Stat(f[4]); err == nil {
					break
				}
			}
			m, err := c.Write(b)
			if err != nil {
				t.Fatal(err)
			}
			n += int64(m)
		}
	}
	end := time.Now()
	if err := json.NewEncoder(os.Stdout).Encode(Flow{uint64(n), end.Sub(start).Seconds()}); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// fake is a contender of the tool above.
func fake(t *testing.T, name string, d time.Duration, more string) Contender {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	line := func(what string) []string {
		return []string{env, fakeEnd + "=" + what, self, "-test.run", "^TestFakeEnd$"}
	}
	at := func(addr string, port int) string { return net.JoinHostPort(addr, strconv.Itoa(port)) }
	return Contender{Name: name,
		Receiver: func(addr string, port int) []string { return line("rx " + at(addr, port)) },
		Sender: func(addr string, port int) []string {
			return line("tx " + at(addr, port) + " " + d.String() +
				more)
		},
		Outcome: func(receiver, _ []byte) (f Flow, err error) {
			return f, json.Unmarshal(receiver, &f)
		}}
}

// lasts is how long a flow may take that ends before, or is ended.
const lasts = 10 * time.Minute

// racing begins flows of these, which take turns.
func racing(t *testing.T, cs ...Contender) ([]*racer, error) {
	t.Helper()
	return racingIn(t.Context(), t, cs...)
}

func racingIn(ctx context.Context, t *testing.T, cs ...Contender) (rs []*racer, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	for i, c := range cs {
		pair, err := veth.New(veth.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := pair.Close(); err != nil {
				t.Error(err)
			}
		})
		r, err := beginRacer(ctx, trial{pair: pair, c: c, port: firstPort + i, d: lasts}, payloads)
		if err != nil {
			return rs, err
		}
		t.Cleanup(r.giveUp)
		rs = append(rs, r)
	}
	return rs, nil
}

// Flows that are all under way take turns: each moves bytes in its own.
func TestIntegrationTurns(t *testing.T) {
	enough := filepath.Join(t.TempDir(), "enough")
	rs, err := racing(t, fake(t, "a", lasts, " until "+enough), fake(t, "b", lasts, " until "+enough))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		for _, p := range []*process{r.rx, r.tx} {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid)); err != nil ||
				!strings.Contains(string(b), ") T ") {
				t.Errorf("%s is not stopped outside of its turns: %v %s", r.c.Name, err, b)
			}
		}
	}
	await.Until(t, "that each moves bytes", func() bool {
		moved := true
		for _, r := range rs {
			if err := r.turn(20 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
			moved = moved && r.used.pace > 0
		}
		return moved
	})
	if err := os.WriteFile(enough, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if err := cmp.Or(r.finish(), r.heldAgainstLink()); err != nil {
			t.Error(err)
		}
	}
}

// Together they say what the interface brought, and what that took.
func TestIntegrationTurnsMeasured(t *testing.T) {
	kind.Timed(t)
	rs, err := racing(t, fake(t, "a", 3*time.Second, ""), fake(t, "b", 3*time.Second, ""))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := race(rs, 4, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if err := r.heldAgainstLink(); err != nil {
			t.Error(err)
		}
		if m := r.used.measured(foreign); m.Gbps <= 0 || m.CPUPGB < 0.999*(m.RxCPUPGB+m.TxCPUPGB) ||
			m.RxCPUPGB <= 0 || m.TxCPUPGB <= 0 || r.used.paced < 8*20*time.Millisecond {
			t.Errorf("%s: %+v, paced %v", r.c.Name, m, r.used.paced)
		}
	}
}

// A tool that does not go on after it was stopped is named, and what is there of others is ended.
func TestIntegrationTurnsOfOneThatDies(t *testing.T) {
	rs, err := racing(t, fake(t, "lasting", lasts, ""), fake(t, "dying", lasts, " dies"))
	await.Until(t, "that one has died", func() bool {
		for _, r := range rs {
			err = cmp.Or(err, r.turn(20*time.Millisecond))
		}
		return err != nil
	})
	if err == nil || !strings.Contains(err.Error(), "dying: it ended before its turns were over") {
		t.Fatalf("error %v, want one that names it", err)
	}
}

// A program that escapes from its session goes on while it should be stopped: that is noticed.
func TestIntegrationTurnsOfOneThatEscapes(t *testing.T) {
	c := fake(t, "escaping", await.Hang, "") // it may escape us, too
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Fatal(err)
	}
	sender := c.Sender
	c.Sender = func(addr string, port int) []string {
		return append([]string{setsid, "--wait"}, sender(addr, port)...)
	}
	recv := c.Receiver
	c.Receiver = func(addr string, port int) []string {
		return append([]string{setsid, "--wait"}, recv(addr, port)...)
	}
	rs, err := racing(t, c)
	for _, r := range rs {
		killLater(t, r.rx, r.tx)
	}
	for range 2 { // the second sees what came since the first
		if err == nil {
			err = rs[0].turn(20 * time.Millisecond)
		}
		if err == nil {
			err = awaitMore(rs[0])
		}
	}
	if err == nil || !strings.Contains(err.Error(), "came while it was stopped") {
		t.Fatalf("error %v, want one that says that it went on", err)
	}
}

// killLater ends with the test what processes have started by now, which would not end with them.
func killLater(t *testing.T, ps ...*process) {
	t.Helper()
	for _, p := range ps {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.Cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for f := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			child, err := os.FindProcess(pid) // it holds this one, also when its number is another's
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = child.Kill() })
		}
	}
}

// awaitMore waits until more came since the last turn than can have been under way, however fast
// that is on this machine.
func awaitMore(r *racer) error {
	err := errors.New("it did stop")
	await.So(func() bool {
		now, readErr := r.link.read()
		if readErr == nil && r.between(r.used.last, now) <= r.drained {
			return false
		}
		err = readErr
		return true
	})
	return err
}

// An interrupted comparison ends processes that are stopped, too.
func TestIntegrationTurnsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	rs, err := racingIn(ctx, t, fake(t, "a", lasts, ""), fake(t, "b", lasts, ""))
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	if _, err := race(rs, 1, 20*time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the interruption", err)
	}
	for _, r := range rs {
		for _, p := range []*process{r.rx, r.tx} {
			await.Chan(t, fmt.Sprintf("%s: the end of process %d", r.c.Name, p.Cmd.Process.Pid), p.Ended)
		}
	}
}
