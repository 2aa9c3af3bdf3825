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

	"github.com/zcbench/zcbench/agent"
	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/wire"
	"golang.org/x/sys/unix"
)

// badAgentEnv makes this test binary a bad agent: "FILE HOW OP". It is a good one
// but for its first request OP, if FILE is there then, which it takes away. HOW is
// "stop": it is frozen; "mute": it answers only whether it lives; else the result
// that it gives instead of its own.
const badAgentEnv = "ZCBENCH_TEST_BAD_AGENT"

// bad lets one agent be bad, and those after it be good.
func bad(t *testing.T, how string, op wire.Op) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(badAgentEnv, file+" "+string(op)+" "+how)
}

func beBadAgent(spec string) {
	if spec == fat {
		beFatAgent()
		return
	}
	words := strings.SplitN(spec, " ", 3)
	file, op, how := words[0], wire.Op(words[1]), words[2]
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
				time.Sleep(time.Minute)
			}
			break
		}
		var req wire.Request
		json.Unmarshal(line, &req)
		if req.Op == op && !mute && os.Remove(file) == nil {
			switch how {
			case "stop":
				unix.Kill(os.Getpid(), unix.SIGSTOP)
				time.Sleep(50 * time.Millisecond) // other threads stop a moment later
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

// impatient are limits for tests.
var impatient = host.Limits{Silence: 2500 * time.Millisecond, Alive: 100 * time.Millisecond, Greet: 3 * time.Second, Answer: 3 * time.Second, Change: 2 * time.Second,
	Abort: time.Second, Close: 1500 * time.Millisecond, End: 500 * time.Millisecond}

func hurry(t *testing.T, r *rig) {
	t.Helper()
	oldWait, oldGrace := peerWait, endGrace
	peerWait, endGrace = time.Second, time.Second
	t.Cleanup(func() { peerWait, endGrace = oldWait, oldGrace })
	r.Runner.Grace = time.Second
}

// An agent that is frozen, or only says that it lives, in whatever it was asked: the
// run is failed and says which host and what to do, and the next run, which has
// another agent, is well.
func TestIntegrationPlayFrozenAgent(t *testing.T) {
	for _, how := range []string{"stop", "mute"} {
		for _, op := range []wire.Op{wire.OpClock, wire.OpOpen, wire.OpRun, wire.OpClose, wire.OpSet} {
			t.Run(how+" "+string(op), func(t *testing.T) {
				r := newRigOf(t, impatient)
				hurry(t, r)
				if op == wire.OpSet {
					r.Runner.Opt.SUTSettings.MTU, r.Runner.Opt.TGSettings.MTU = 4000, 4000
				}
				r.heard.onBegin = func(n int) {
					if n == 0 {
						r.restartBad(t, how, op)
					}
				}
				begin := time.Now()
				recs, err := r.Play(t.Context(), plan(2, cell("tcp", "tcp")))
				if took := time.Since(begin); took > 20*time.Second {
					t.Errorf("took %v", took)
				}
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
				if first.Verdict != results.Failed || !strings.Contains(first.Reason, "host sut: the agent is lost: it did not answer") || !strings.Contains(first.Fix, "zcbench restore") {
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
	r := newRigOf(t, impatient)
	old := slowRestore
	slowRestore = 100 * time.Millisecond
	defer func() { slowRestore = old }()
	bad(t, "mute", wire.OpFinish)
	r.sut.GiveUp("for the test")
	err := r.Runner.Restore()
	if err == nil || !strings.Contains(err.Error(), "restore host sut, whose agent was lost") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"host sut: still restores", "another Ctrl-C", "zcbench restore --host"} {
		if !strings.Contains(r.said.String(), want) {
			t.Errorf("not said: %q in %q", want, r.said)
		}
	}
}

// restartBad gives the SUT a bad agent in the place of its good one.
func (r *rig) restartBad(t *testing.T, how string, op wire.Op) {
	t.Helper()
	bad(t, how, op)
	if op == wire.OpClock { // asked at the greeting too: the good agent's twin is bad later
		os.Remove(strings.Fields(os.Getenv(badAgentEnv))[0])
	}
	r.sut.GiveUp("for the test")
	if err := r.sut.Revive(t.Context()); err != nil {
		t.Error(err)
	}
	if op == wire.OpClock {
		if err := os.WriteFile(strings.Fields(os.Getenv(badAgentEnv))[0], nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// One interrupt ends it all soon, although both agents are frozen.
func TestIntegrationPlayFrozenBothInterrupted(t *testing.T) {
	r := newRigOf(t, impatient)
	hurry(t, r)
	r.AbortOnCancel = true
	r.Runner.Opt.Duration = time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(int) {
		time.AfterFunc(300*time.Millisecond, func() {
			unix.Kill(r.sut.PID(), unix.SIGSTOP)
			unix.Kill(r.tg.PID(), unix.SIGSTOP)
			cancel(fmt.Errorf("enough"))
		})
	}
	begin := time.Now()
	recs, err := r.Play(ctx, plan(3, cell("tcp", "tcp")))
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	if err == nil || !strings.Contains(err.Error(), "enough") || len(recs) != 1 || recs[0].Verdict != results.Failed {
		t.Errorf("%+v, %v", recs, err)
	}
}

// An interrupt also ends the wait for an end that is not freed.
func TestIntegrationPlayNotFreedInterrupted(t *testing.T) {
	slow := impatient
	slow.Close = time.Minute
	r := newRigOf(t, slow)
	hurry(t, r)
	old := closeGrace
	closeGrace = 300 * time.Millisecond
	t.Cleanup(func() { closeGrace = old })
	r.AbortOnCancel = true
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(int) {
		r.restartBad(t, "mute", wire.OpClose)
		time.AfterFunc(2*time.Second, func() { cancel(errors.New("enough")) })
	}
	begin := time.Now()
	_, err := r.Play(ctx, plan(1, cell("tcp", "tcp")))
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	if err == nil || !strings.Contains(err.Error(), "did not free its end") {
		t.Error(err)
	}
}

// A host on which no agent holds out ends the session.
func TestIntegrationPlayAgentsLostOnEnd(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Duration = time.Minute
	r.heard.onBegin = func(int) {
		time.AfterFunc(200*time.Millisecond, func() { unix.Kill(r.tg.PID(), unix.SIGKILL) })
	}
	recs, err := r.Play(t.Context(), plan(9, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "3 runs on end lost an agent: host tg") || len(recs) != 3 {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

// Nonsense of an agent is one failed run, never a well one, and never the end of
// the session.
func TestIntegrationPlayNonsense(t *testing.T) {
	const figures = `"total":{"bytes":5,"calls":1,"waits":1,"zero_copy_bytes":0,"copied_bytes":0,"linear_bytes":0,"mismatches":0,"first_mismatch":0,"completions":0,"copied_completions":0,"rearms":0,"overflows":0},` +
		`"window":{"bytes":5,"calls":1,"waits":1,"zero_copy_bytes":0,"copied_bytes":0,"linear_bytes":0,"mismatches":0,"first_mismatch":0,"completions":0,"copied_completions":0,"rearms":0,"overflows":0},` +
		`"flow_ns":5,"from_ns":5,"to_ns":9,"strangers":0,"proc_user_s":0,"proc_sys_s":0`
	for name, x := range map[string]struct {
		op       wire.Op
		how, say string
	}{
		"no verdict":      {wire.OpRun, `"result":{"verdict":"","host":{"env":{}},` + figures + `}`, "no verdict"},
		"another verdict": {wire.OpRun, `"result":{"verdict":"splendid","host":{"env":{}},` + figures + `}`, "no verdict"},
		"ok, no figures":  {wire.OpRun, `"result":{"verdict":"ok","host":{"env":{}},` + figures + `}`, "no duration"},
		"ok, a reason":    {wire.OpRun, `"result":{"verdict":"ok","reason":"it broke","host":{"env":{}},` + figures + `}`, "it broke"},
		"ok as an error":  {wire.OpRun, `"error":{"message":"m","verdict":"ok"}`, "an error with the verdict"},
		"both":            {wire.OpRun, `"result":{},"error":{"message":"m","verdict":"failed"}`, "at once"},
		"another window":  {wire.OpRun, `"result":{"verdict":"ok","host":{"env":{},"duration_s":4e-9,"bytes":5,"total_bytes":5,"throughput_gbps":10},` + figures + `}`, "was asked for"},
		"a bad series":    {wire.OpRun, `"result":{"verdict":"failed","reason":"r","host":{"env":{},"series":[{"metric":"m","unit":"1","t_ns":[1,2],"v":[1]}]},` + figures + `}`, "2 times and 1 values"},
		"a huge figure":   {wire.OpRun, `"result":{"verdict":"failed","reason":"r","host":{"env":{},"metrics":[{"metric":"m","unit":"1","value":1e308,"source":"s"}]},` + figures + `}`, "no figure"},
		"another address": {wire.OpOpen, `"result":{"addr":"192.0.2.1:80"}`, "192.0.2.1:80"},
		"no port":         {wire.OpOpen, `"result":{}`, `""`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, impatient)
			hurry(t, r)
			r.heard.onBegin = func(n int) {
				if n == 0 {
					r.restartBad(t, x.how, x.op)
				}
			}
			recs, err := r.Play(t.Context(), plan(2, cell("tcp", "tcp")))
			if err != nil || len(recs) != 2 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			first := recs[0]
			if first.Verdict != results.Failed || !strings.Contains(first.Reason, "SUT: host sut: the agent answered nonsense: ") || !strings.Contains(first.Reason, x.say) || first.Fix == "" {
				t.Errorf("%s: %q, fix %q; want %q", first.Verdict, first.Reason, first.Fix, x.say)
			}
			if recs[1].Verdict == results.Failed {
				t.Errorf("the next run: %s: %s", recs[1].Verdict, recs[1].Reason)
			}
		})
	}
}
