// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/results"
)

// badAgentsEnv is the folder in which agents that this test binary is look whether
// they are to be bad: there is a file for the network namespace of those that are,
// so that agents of tests that run at once are told apart. It says "OP HOW". Such an
// agent is a good one but for its first request OP, if the file's twin ".once" is
// there then, which it takes away. HOW is "stop": it is frozen; "mute": it answers
// only whether it lives; else the result that it gives instead of its own.
const badAgentsEnv = "ZCBENCH_TEST_BAD_AGENTS"

// badFile is the file that makes agents of this process's namespace bad.
func badFile() (string, error) {
	var st unix.Stat_t
	err := unix.Stat("/proc/thread-self/ns/net", &st)
	return filepath.Join(os.Getenv(badAgentsEnv), fmt.Sprint(st.Ino)), err
}

// bad lets the SUT's next agent be bad, and those after it be good. While once, the
// file that it returns, is there, it was not asked what it is bad at.
func (r *rig) bad(t *testing.T, how string, op wire.Op) (once string) {
	t.Helper()
	var file string
	err := r.pair.SUT.Netns.Do(func() (err error) { file, err = badFile(); return err })
	once = file + ".once"
	if err := errors.Join(err, os.WriteFile(file, []byte(string(op)+" "+how), 0o600),
		os.WriteFile(once, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file); os.Remove(once) })
	return once
}

func beBadAgent(file, spec string) {
	op, how, _ := strings.Cut(spec, " ")
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	go func() {
		err := agent.Serve(context.Background(), in, out)
		out.CloseWithError(err)
	}()
	said := make(chan struct{})
	var mute bool
	lie := make(chan int, 1) // the question whose answer is another
	go func() {
		defer close(said)
		lines := bufio.NewReaderSize(fromAgent, wire.MaxLine)
		liar := -1
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var r wire.Response
			json.Unmarshal(line, &r)
			select {
			case liar = <-lie:
			default:
			}
			if r.ID == liar && r.ID != 0 {
				fmt.Printf("{\"id\":%d,%s}\n", r.ID, how)
				continue
			}
			os.Stdout.Write(line)
		}
	}()
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			if mute {
				await.Kill()
			}
			break
		}
		var req wire.Request
		json.Unmarshal(line, &req)
		if string(req.Op) == op && !mute && os.Remove(file+".once") == nil {
			switch how {
			case "stop":
				unix.Kill(os.Getpid(), unix.SIGSTOP)
				await.Kill() // this thread may stop a moment later
			case "mute":
				mute = true
			default:
				lie <- req.ID
			}
		}
		if mute && req.Op != wire.OpAlive {
			continue
		}
		toAgent.Write(line)
	}
	toAgent.Close()
	<-said
}

// impatient are limits for tests: more than a good agent needs on a busy machine,
// for there is one after each bad one.
var impatient = host.Limits{Silence: 8 * time.Second, Alive: 100 * time.Millisecond, Answer: 8 * time.Second,
	Change: 8 * time.Second,
	Abort:  8 * time.Second, Close: 8 * time.Second, End: 500 * time.Millisecond}

// hurry shortens what is waited for, until the test and those below it have ended.
func hurry(t *testing.T) {
	t.Helper()
	oldWait, oldGrace := peerWait, endGrace
	peerWait, endGrace = 6*time.Second, 6*time.Second
	t.Cleanup(func() { peerWait, endGrace = oldWait, oldGrace })
}

// An agent that is frozen, or only says that it lives, in whatever it was asked: the
// run is failed and says which host and what to do, and the next run, which has
// another agent, is well.
func TestIntegrationPlayFrozenAgent(t *testing.T) {
	hurry(t)
	for _, how := range []string{"stop", "mute"} {
		for _, op := range []wire.Op{wire.OpClock, wire.OpOpen, wire.OpRun, wire.OpClose, wire.OpSet} {
			t.Run(how+" "+string(op), func(t *testing.T) {
				t.Parallel() // each waits for an agent that does nothing
				r := newRigOf(t, impatient, host.Limits{})
				r.Runner.Grace = 2 * time.Second
				if op == wire.OpSet {
					r.Runner.Opt.SUTSettings.Host.MTU, r.Runner.Opt.TGSettings.Host.MTU = 4000, 4000
				}
				r.heard.onBegin = func(n int) {
					if n == 0 {
						r.restartBad(t, how, op)
					}
				}
				recs, err := r.Play(await.Context(t), interleaved(2, cell("tcp", "tcp")))
				if err != nil || len(recs) != 2 {
					for _, rec := range recs {
						t.Logf("%s: %s", rec.Verdict, rec.Reason)
					}
					t.Fatalf("%d records, %v", len(recs), err)
				}
				first := recs[0]
				if op == wire.OpClose && first.Verdict == results.OK {
					t.Error("a run whose end was not freed is well")
				}
				if first.Verdict != results.Failed ||
					!strings.Contains(first.Reason, "host sut: the agent is lost: ") ||
					!strings.Contains(first.Fix, "zcbench restore") {
					t.Errorf("%s: %q, fix %q", first.Verdict, first.Reason, first.Fix)
				}
				if recs[1].Verdict == results.Failed {
					t.Errorf("the next run: %s: %s", recs[1].Verdict, recs[1].Reason)
				}
			})
		}
	}
}

// Who waits for a host to be restored is told so, and what not to wait means.
func TestIntegrationRestoreSaysWhatItWaitsFor(t *testing.T) {
	r := newRigOf(t, host.Limits{Change: 1500 * time.Millisecond, End: 500 * time.Millisecond}, host.Limits{})
	old := slowRestore
	slowRestore = 100 * time.Millisecond
	defer func() { slowRestore = old }()
	r.bad(t, "mute", wire.OpFinish)
	r.sut.GiveUp("for the test")
	err := r.Runner.Restore()
	if err == nil || !strings.Contains(err.Error(), "restore host sut after losing its agent") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"host sut: still restoring", "another Ctrl-C", "zcbench restore --host"} {
		if !strings.Contains(r.said.String(), want) {
			t.Errorf("not said: %q in %q", want, r.said)
		}
	}
}

// restartBad gives the SUT a bad agent in the place of its good one.
func (r *rig) restartBad(t *testing.T, how string, op wire.Op) (once string) {
	t.Helper()
	once = r.bad(t, how, op)
	if op == wire.OpClock { // asked at the greeting too: the good agent's twin is bad later
		os.Remove(once)
	}
	r.sut.GiveUp("for the test")
	if err := r.sut.Revive(t.Context()); err != nil {
		t.Error(err)
	}
	if op == wire.OpClock {
		if err := os.WriteFile(once, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	return once
}

// One interrupt ends it all soon, although both agents are frozen: not only when an agent has been
// silent for too long, or an end has waited for the other.
func TestIntegrationPlayFrozenBothInterrupted(t *testing.T) {
	brisk := host.Limits{Silence: time.Hour, Alive: 100 * time.Millisecond, Abort: time.Second,
		Close: 1500 * time.Millisecond, End: 500 * time.Millisecond}
	r := newRigOf(t, brisk, brisk)
	hurry(t)
	peerWait, endGrace = time.Hour, time.Hour
	r.Runner.Grace = time.Second
	r.AbortOnCancel = true
	r.endless()
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(int) {
		await.Later(300*time.Millisecond, func() {
			unix.Kill(r.sut.PID(), unix.SIGSTOP)
			unix.Kill(r.tg.PID(), unix.SIGSTOP)
			cancel(fmt.Errorf("enough"))
		})
	}
	var recs []results.Record
	var err error
	await.Return(t, "the end of the session", func() { recs, err = r.Play(ctx, interleaved(3, cell("tcp", "tcp"))) })
	if err == nil || !strings.Contains(err.Error(), "enough") || len(recs) != 1 || recs[0].Verdict != results.Failed {
		t.Errorf("%+v, %v", recs, err)
	}
}

// An interrupt also ends the wait for an end that is not freed.
func TestIntegrationPlayNotFreedInterrupted(t *testing.T) {
	r := newRigOf(t, host.Limits{Close: time.Hour, End: 500 * time.Millisecond}, host.Limits{})
	r.Runner.Close = 300 * time.Millisecond
	r.AbortOnCancel = true
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(int) {
		once := r.restartBad(t, "mute", wire.OpClose)
		go func() {
			await.So(func() bool { _, err := os.Stat(once); return err != nil || ctx.Err() != nil })
			cancel(errors.New("enough")) // it has been asked, and says nothing
		}()
	}
	_, err := r.Play(ctx, interleaved(1, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "did not free its end") {
		t.Error(err)
	}
}

// A host on which no agent holds out ends the session.
func TestIntegrationPlayAgentsLostOnEnd(t *testing.T) {
	r := newRig(t)
	r.endless()
	r.heard.onBegin = func(int) {
		await.Later(200*time.Millisecond, func() { unix.Kill(r.tg.PID(), unix.SIGKILL) })
	}
	recs, err := r.Play(t.Context(), interleaved(9, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "3 runs in a row lost an agent: host tg") || len(recs) != 3 {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

// Nonsense of an agent is one failed run, never a well one, and never the end of
// the session.
func TestIntegrationPlayNonsense(t *testing.T) {
	hurry(t)
	const figures = `"total":{"bytes":5,"calls":1,"waits":1,"zero_copy_bytes":0,"copied_bytes":0,` +
		`"linear_bytes":0,"mismatches":0,"first_mismatch":0,"completions":0,"copied_completions":0,"rearms":0,` +
		`"overflows":0},` +
		`"window":{"bytes":5,"calls":1,"waits":1,"zero_copy_bytes":0,"copied_bytes":0,"linear_bytes":0,` +
		`"mismatches":0,"first_mismatch":0,"completions":0,"copied_completions":0,"rearms":0,"overflows":0},` +
		`"flow_ns":5,"from_ns":5,"to_ns":9,"strangers":0,"proc_user_s":0,"proc_sys_s":0`
	for name, x := range map[string]struct {
		op       wire.Op
		how, say string
	}{
		"no verdict": {wire.OpRun, `"result":{"verdict":"","host":{"env":{}},` + figures + `}`,
			"is not a verdict"},
		"another verdict": {wire.OpRun, `"result":{"verdict":"splendid","host":{"env":{}},` + figures + `}`,
			"is not a verdict"},
		"ok, no figures": {wire.OpRun, `"result":{"verdict":"ok","host":{"env":{}},` + figures + `}`, "no duration"},
		"ok, a reason": {wire.OpRun, `"result":{"verdict":"ok","reason":"it broke","host":{"env":{}},` +
			figures + `}`, "it broke"},
		"ok as an error": {wire.OpRun, `"error":{"message":"m","verdict":"ok"}`, "an error with the verdict"},
		"both": {wire.OpRun, `"result":{},"error":{"message":"m","verdict":"failed"}`,
			"both a result and an error"},
		"another window": {wire.OpRun, `"result":{"verdict":"ok","host":{"env":{},"duration_s":4e-9,"bytes":5,` +
			`"total_bytes":5,"throughput_gbps":10},` + figures + `}`, "a window of"},
		"a bad series": {wire.OpRun, `"result":{"verdict":"failed","reason":"r","host":{"env":{},` +
			`"series":[{"metric":"m","unit":"1","t_ns":[1,2],"v":[1]}]},` + figures + `}`, "2 times and 1 values"},
		"a huge figure": {wire.OpRun, `"result":{"verdict":"failed","reason":"r","host":{"env":{},` +
			`"metrics":[{"metric":"m","unit":"1","value":1e308,"source":"s"}]},` + figures + `}`,
			"is not a valid figure"},
		"another address": {wire.OpOpen, `"result":{"addr":"192.0.2.1:80"}`, "192.0.2.1:80"},
		"no port":         {wire.OpOpen, `"result":{}`, `""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigOf(t, impatient, host.Limits{})
			r.Runner.Grace = 2 * time.Second
			r.heard.onBegin = func(n int) {
				if n == 0 {
					r.restartBad(t, x.how, x.op)
				}
			}
			recs, err := r.Play(t.Context(), interleaved(2, cell("tcp", "tcp")))
			if err != nil || len(recs) != 2 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			first := recs[0]
			if first.Verdict != results.Failed ||
				!strings.Contains(first.Reason, "SUT: host sut: the agent answered nonsense: ") ||
				!strings.Contains(first.Reason, x.say) || first.Fix == "" {
				t.Errorf("%s: %q, fix %q; want %q", first.Verdict, first.Reason, first.Fix, x.say)
			}
			if recs[1].Verdict == results.Failed {
				t.Errorf("the next run: %s: %s", recs[1].Verdict, recs[1].Reason)
			}
		})
	}
}
