// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// several gives a spec so many flows.
func several(s wire.EndSpec, n int) wire.EndSpec {
	s.Cell.Flows, s.Flows = n, nil
	for range n {
		s.Flows = append(s.Flows, wire.FlowSpec{CPU: -1})
	}
	return s
}

// Modes of TCP flows. Those that take a queue of a NIC over have none on loopback: several of
// their flows run in the lab (labtest.RunFlows).
var (
	overLoopback = map[stream.Role][]string{
		stream.RX: {"tcp", "tcp-mmap", "tcp-trunc", "uring", "zcrx-nodev"},
		stream.TX: {"msg-zerocopy", "sendfile", "tcp", "uring", "uring-zc"},
	}
	overNICs = map[stream.Role][]string{stream.RX: {"devmem", "zcrx"}, stream.TX: {"devmem"}}
)

// A mode that goes, or comes, is seen: TestSeveralFlows has each that there is.
func TestModesOfSeveralFlows(t *testing.T) {
	for role, here := range overLoopback {
		var all []string
		for _, m := range modes.All {
			if m.Role == role && m.Kind == stream.Stream && !m.Has(stream.RoundTrips) {
				all = append(all, m.Name)
			}
		}
		want := slices.Concat(here, overNICs[role])
		slices.Sort(all)
		slices.Sort(want)
		if !slices.Equal(all, want) {
			t.Errorf("%s modes %q, and tried with several flows %q", role, all, want)
		}
	}
}

// Several flows of every mode move verified payload, each by itself, and their figures add up.
func TestSeveralFlows(t *testing.T) {
	for _, rx := range overLoopback[stream.RX] {
		t.Run(rx+"/tcp", func(t *testing.T) { moveSeveral(t, rx, "tcp") })
	}
	for _, tx := range overLoopback[stream.TX] {
		if tx != "tcp" {
			t.Run("tcp/"+tx, func(t *testing.T) { moveSeveral(t, "tcp", tx) })
		}
	}
}

// moveSeveral runs flows of two modes, where the kernel has both.
func moveSeveral(t *testing.T, rx, tx string) {
	needMode(t, stream.RX, rx)
	needMode(t, stream.TX, tx)
	const n = 3
	r, s := flowUntil(t, several(rxSpec(rx, mib), n), several(txSpec(tx, mib), n), moved(4*mib))
	checkMoved(t, r, s, tx)
	for _, res := range []wire.EndResult{r, s} {
		checkSum(t, res, n)
	}
	if s.PeerBytes == nil || *s.PeerBytes != r.Total.Bytes || r.Total.Bytes != s.Total.Bytes {
		t.Errorf("received %d, sent %d, the receiver says %v", r.Total.Bytes, s.Total.Bytes, s.PeerBytes)
	}
}

// checkSum holds the figures of n flows against those of their end.
func checkSum(t *testing.T, res wire.EndResult, n int) {
	t.Helper()
	if len(res.Host.Flows) != n {
		t.Fatalf("figures of %d flows", len(res.Host.Flows))
	}
	var bytes uint64
	for i, f := range res.Host.Flows {
		if f.Verdict != results.OK || f.Reason != "" || f.Bytes == nil || *f.Bytes == 0 ||
			f.ThroughputGbps == nil || *f.ThroughputGbps <= 0 || f.CPUS == nil || *f.CPUS <= 0 {
			t.Errorf("flow %d: %+v", i, f)
		} else {
			bytes += *f.Bytes
		}
	}
	if res.Host.Bytes == nil || bytes != *res.Host.Bytes || bytes != res.Total.Bytes {
		t.Errorf("%v bytes of %d, and %d of all flows", res.Host.Bytes, res.Total.Bytes, bytes)
	}
}

// needMode skips a test of a mode that this kernel does not have.
func needMode(t *testing.T, role stream.Role, name string) {
	t.Helper()
	m, err := modes.Find(role, name)
	if err == nil {
		err = m.Support("lo")
	}
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		t.Skipf("%v; %s", err, fault.Fix(err))
	} else if err != nil {
		t.Fatal(err)
	}
}

// Both ends must agree on how many flows there are: the receiver says so at once, and does not
// wait for the rest.
func TestFlowsDiffer(t *testing.T) {
	for _, x := range []struct{ rx, tx int }{{2, 1}, {1, 2}, {3, 2}} {
		r, s := runBoth(t, several(rxSpec("tcp", mib), x.rx), several(txSpec("tcp", mib), x.tx),
			lasting(100*time.Millisecond), lasting(0))
		if want := fmt.Sprintf("the sender has %d flows, but %d are expected", x.tx,
			x.rx); r.Verdict != results.Failed || r.Reason != want || !strings.Contains(r.Fix, "--flows") {
			t.Errorf("%d for %d: %s %q; fix %q", x.tx, x.rx, r.Verdict, r.Reason, r.Fix)
		}
		if s.Verdict != results.Failed || !s.BlamesPeer {
			t.Errorf("%d for %d: the sender says %s %q", x.tx, x.rx, s.Verdict, s.Reason)
		}
	}
}

// dial opens one of two flows, whose payload never comes.
func dial(t *testing.T, e *End, n int) *stream.Conn {
	t.Helper()
	c, _, err := stream.Dial(await.Context(t), e.Addr().String(), stream.Hello{Cookie: cookie, TXMode: "tcp",
		MessageBytes: mib, PeriodBytes: 4096, Flow: n, Flows: 2}, sock.Options{})
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A flow that never comes is named, and the one that came is let go.
func TestFlowMissing(t *testing.T) {
	// Where others keep the CPUs for so long, that one may not come in time either.
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		if res := oneOfTwo(t, wait); strings.Contains(res.Fix, "0 of 2 flows arrived") && wait < time.Minute {
			t.Logf("after %v: %s", wait, res.Fix)
		} else if res.Verdict != results.Failed ||
			!strings.Contains(res.Reason, fmt.Sprintf("it did not arrive within %v", wait)) ||
			!strings.Contains(res.Fix, "1 of 2 flows arrived, flow 0 did not") {
			t.Fatalf("%s %q; fix %q", res.Verdict, res.Reason, res.Fix)
		} else {
			return
		}
	}
}

// oneOfTwo is the run of a receiver that waits so long for two flows, of which one comes.
func oneOfTwo(t *testing.T, wait time.Duration) wire.EndResult {
	t.Helper()
	r := open(t, several(rxSpec("tcp", mib), 2))
	sch := endless()
	sch.PeerWaitNs = int64(wait)
	got := background(t.Context(), r, sch)
	_, _, err := stream.Dial(await.Context(t), r.Addr().String(), stream.Hello{Cookie: cookie, TXMode: "tcp",
		MessageBytes: mib, PeriodBytes: 4096, Flow: 1, Flows: 2}, sock.Options{})
	if err == nil {
		t.Error("one flow of two was welcome")
	}
	return result(t, got)
}

// One flow's death ends all, and the run says which it was and why.
func TestFlowDies(t *testing.T) {
	r := open(t, several(rxSpec("tcp", mib), 2))
	got := background(t.Context(), r, endless())
	var conns [2]*stream.Conn
	var welcome sync.WaitGroup
	for n := range conns {
		welcome.Go(func() { conns[n] = dial(t, r, n) })
	}
	welcome.Wait()
	if conns[1] != nil {
		conns[1].Abort()
		conns[1].Close() // a reset
	}
	res := result(t, got)
	if res.Verdict != results.Failed || !strings.HasPrefix(res.Reason, "flow 1: ") {
		t.Fatalf("%s %q; fix %q", res.Verdict, res.Reason, res.Fix)
	}
}

// What is wrong is what one flow found, and not that the others were ended for it, whichever is
// heard of first.
func TestCauseOfDeath(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		r := &run{end: newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{}), left: 2}
		for _, n := range order {
			res := flowResult{n: n, err: stream.ErrAborted}
			if n == 1 {
				res.err = unix.EFAULT
			}
			r.book(res)
		}
		if err := r.flowError(); !errors.Is(err, unix.EFAULT) || !strings.HasPrefix(err.Error(), "flow 1: ") {
			t.Errorf("%v: %v", order, err)
		}
	}
}

// A flow that stands still while others move is noticed, and named.
func TestOneFlowStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{})
		s := newStallWatch(e, time.Second)
		time.Sleep(time.Second)
		if err := s.check(); err != nil {
			t.Errorf("in time: %v", err)
		}
		time.Sleep(time.Nanosecond)
		e.flows[0].Meter.Bytes(5)
		if err := s.check(); err == nil || err.Error() != "flow 1: no payload for 1s, after 0 bytes" {
			t.Errorf("%v", err)
		}
		e.flows[1].done = true
		if err := s.check(); err != nil {
			t.Errorf("one that has ended: %v", err)
		}
	})
}

// Copies that must be excuse a run only where nothing else is wrong with any flow.
func TestExpectedOfFlows(t *testing.T) {
	copied := stream.Counters{Bytes: 100, CopiedBytes: 100}
	for _, x := range []struct {
		wrong uint64 // bytes of flow 0
		want  bool
	}{{0, true}, {1, false}} {
		all := [2]stream.Counters{copied, copied}
		all[0].Mismatches = x.wrong
		r, _ := judged("tcp", true, [2]stream.Counters{}, all, stream.Evidence{})
		r.end.spec.Dev = "lo"
		r.end.path.Traits |= stream.CopiedHere
		for i, f := range r.end.flows {
			f.Meter.Copied(all[i].CopiedBytes)
			f.Meter.Bytes(int(all[i].Bytes))
			if all[i].Mismatches > 0 {
				f.Meter.Mismatch(0, int(all[i].Mismatches))
			}
			f.worker = &worker{own: []*flow{f}}
		}
		if res := r.judge(nil); res.Verdict != results.Invalid || res.Expected != x.want {
			t.Errorf("%d bytes wrong: %s %q, expected %v", x.wrong, res.Verdict, res.Reason, res.Expected)
		}
	}
}

// Every path has a P of the Go scheduler, which it keeps while it sleeps, and some are left.
func TestProcessorsOfFlows(t *testing.T) {
	const n = 6
	e := open(t, several(rxSpec("tcp", mib), n))
	defer e.Close()
	if got := runtime.GOMAXPROCS(0); got < n+spareProcessors {
		t.Errorf("%d Ps for %d paths", got, n)
	}
}

// judged are two flows of a path whose window has been read, of which one is not right.
func judged(rx string, zero bool, was, is [2]stream.Counters, evidence stream.Evidence) (*run, *wire.EndResult) {
	spec := several(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: rx}}, 2)
	m := stream.Mode{Name: rx, Role: stream.RX}
	if zero {
		m.Traits = stream.ZeroCopy
	}
	e := newEnd(spec, m, stream.Options{})
	r := &run{end: e, from: edge{taken: true, flows: was[:]}, to: edge{taken: true, flows: is[:]}}
	e.flows[1].result.evidence = evidence
	res := &wire.EndResult{Verdict: results.OK, Host: results.Host{Flows: make([]results.Flow, 2)},
		Window: sum(is[:]).Sub(sum(was[:]))}
	return r, res
}

// The run is as good as its worst flow, which is named; the other keeps its own verdict.
func TestWorstFlowCounts(t *testing.T) {
	moved := stream.Counters{Bytes: 100, ZeroCopyBytes: 100}
	for _, x := range []struct {
		name     string
		zero     bool
		is       stream.Counters // of flow 1
		evidence stream.Evidence
		want     string
	}{
		{"fine", true, moved, stream.Evidence{}, ""},
		{"copied", true, stream.Counters{Bytes: 100, ZeroCopyBytes: 50, CopiedBytes: 50}, stream.Evidence{},
			"flow 1: the kernel copied 50.0 % of the payload of zc (limit 1 %)"},
		{"astray", false, moved, stream.Evidence{Astray: "the flow landed on queue 0 instead of queue 3"},
			"flow 1: the flow landed on queue 0 instead of queue 3"},
		{"wrong", false, stream.Counters{Bytes: 100, Mismatches: 1, FirstMismatch: 8}, stream.Evidence{},
			"flow 1: 1 payload bytes are wrong, the first at flow position 7"},
		{"unsorted", true, stream.Counters{Bytes: 90, ZeroCopyBytes: 90}, stream.Evidence{},
			"flow 1: the path took 100 bytes, but reports for 90 whether they were copied"},
		{"nothing", false, stream.Counters{}, stream.Evidence{}, "flow 1: no payload was transferred"},
	} {
		all := [2]stream.Counters{moved, x.is}
		r, res := judged("zc", x.zero, [2]stream.Counters{}, all, x.evidence)
		for i, f := range r.end.flows {
			if f.Meter.Bytes(int(all[i].Bytes)); x.name == "unsorted" && i == 1 {
				f.Meter.Bytes(10)
			}
		}
		r.ask(all[:], res)
		if (res.Reason == "") != (res.Fix == "") {
			t.Errorf("%s: %q, fix %q", x.name, res.Reason, res.Fix)
		}
		f := res.Host.Flows
		if res.Reason != x.want || f[0].Verdict != results.OK || (f[1].Verdict == results.OK) != (x.want == "") ||
			"flow 1: "+f[1].Reason != x.want && x.want != "" {
			t.Errorf("%s: %q; %+v", x.name, res.Reason, f)
		}
	}
	// It has come, and stood still in the window.
	r, res := judged("tcp", false, [2]stream.Counters{{Bytes: 1}, {Bytes: 100}}, [2]stream.Counters{{Bytes: 100},
		{Bytes: 100}}, stream.Evidence{})
	r.ask([]stream.Counters{{Bytes: 100}, {Bytes: 100}}, res)
	if !strings.HasPrefix(res.Reason, "flow 1: no payload was transferred in the window") || res.Fix == "" {
		t.Errorf("%q, fix %q", res.Reason, res.Fix)
	}
}

// Of a flow that was too rarely due a request that is said, and not that it lacked a CPU.
func TestFlowWithoutRequest(t *testing.T) {
	for _, x := range []struct {
		rate int
		want string
	}{{1, "flow 1: none of its requests was due in the window"},
		{2, "flow 1: no payload was transferred in the window, while other flows moved"}, {0, "flow 1: no payload"}} {
		r, res := judged("tcp", false, [2]stream.Counters{{Bytes: 1}, {Bytes: 100}},
			[2]stream.Counters{{Bytes: 100}, {Bytes: 100}}, stream.Evidence{})
		r.end.spec.Cell.TX, r.end.spec.Cell.Flows, r.end.spec.Cell.RRRate = "rr", 2, x.rate
		r.sch.FromNs, r.sch.ToNs = 1, 1+int64(time.Second)
		r.end.flows[1].Meter.Bytes(100)
		r.ask([]stream.Counters{{Bytes: 100}, {Bytes: 100}}, res)
		if !strings.HasPrefix(res.Reason, x.want) || strings.Contains(res.Fix, "ask for 2 or more") != (x.rate == 1) {
			t.Errorf("rate %d: %q, fix %q", x.rate, res.Reason, res.Fix)
		}
	}
}

// A control run steers the last of several flows wrongly, and only that one; each keeps to its
// part of the pace.
func TestFlowsOf(t *testing.T) {
	s := several(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "zcrx", Control: plan.WrongQueue}}, 3)
	for i := range s.Flows {
		s.Flows[i].Queue = new(i + 2)
	}
	for i, f := range flowsOf(s, stream.Options{Socket: sock.Options{PaceBitsPS: 3e9}}) {
		if f.N != i || *f.opts.NIC.Queue != i+2 || (f.steerTo != nil) != (i == 2) ||
			f.opts.Socket.PaceBitsPS != 1e9 || len(f.opts.NIC.Beside) != 3 {
			t.Errorf("flow %d: %+v", i, f)
		}
	}
}
