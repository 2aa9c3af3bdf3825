// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/report"
)

// burnEnv gives agents of these tests, which are this test binary, the mode tcp-burnt: tcp whose
// loop burns that many ns of CPU time for each kB that it received. No program that is built for
// anybody has it.
const burnEnv = "ZCBENCH_TEST_BURN_NS_PER_KB"

const burntMode = "tcp-burnt"

// burnt makes the mode.
func burnt(nsPerKB float64) stream.Mode {
	m := baseline.TCP
	m.Name, m.Summary = burntMode, "recv, and CPU time for nothing"
	m.NewReceiver = func(o stream.Options) (stream.Receiver, error) {
		buf, err := stream.NewBuffer(cmp.Or(o.BufferBytes, o.MessageBytes))
		if err != nil {
			return nil, err
		}
		return &burner{buf: buf, opt: o, each: nsPerKB / 1e3}, nil
	}
	return m
}

// burner receives as [baseline.TCPReceiver] does.
type burner struct {
	buf   *stream.Buffer
	touch *stream.Toucher
	opt   stream.Options
	each  float64 // ns per byte
	owed  float64
	burnt float64 // the last time
}

func (b *burner) Attach(_ *stream.Conn, h stream.Hello) error {
	b.touch = stream.NewToucher(b.opt.Touch, int(h.PeriodBytes))
	return nil
}

func (b *burner) Receive(c *stream.Conn, m *stream.Meter) error {
	message, at := b.buf.Bytes(), 0
	if err := sock.Blocking(c.FD, 100*time.Millisecond); err != nil {
		return err
	}
	for {
		p := message[at:min(at+256<<10, len(message))]
		n, errno := sock.Recv(c.FD, p, 0)
		m.Wait()
		switch {
		case n > 0 && errno == 0:
			b.touch.Next(p[:n], m)
			m.Bytes(n)
			if at += n; at == len(message) {
				at = 0
			}
			b.burn(n)
		case errno == 0:
			return c.Aborted()
		case errno != unix.EINTR && errno != unix.EAGAIN:
			return stream.ReceiveError(c, "recv", errno)
		}
	}
}

// burn uses CPU time of this thread, by its own clock: what others take of it meanwhile is theirs.
func (b *burner) burn(n int) {
	const least = 10e3 // little at a time: what comes meanwhile is cheaper together
	if b.owed += b.each * float64(n); b.owed < least {
		return
	}
	from := threadNs()
	for b.burnt = 0; b.burnt < b.owed; b.burnt = float64(threadNs() - from) {
	}
	b.owed -= b.burnt + clockCost()
}

// clockCost is what it takes to read the clock, of which half a time is before what is burnt, and
// half behind it.
var clockCost = sync.OnceValue(func() float64 {
	const n = 2000
	from := threadNs()
	for range n {
		threadNs()
	}
	return float64(threadNs()-from) / n
})

func threadNs() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano()
}

func (b *burner) Close() error { return b.buf.Close() }

// What it burns is what it was told to, by its thread's own clock. Others that use the CPU make its
// caches cold, and reading the clock slower than it was found to be: that only adds, so the least
// of some tries counts.
func TestBurnerBurns(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := &burner{each: .04}
	const n, bytes = 2000, 256 << 10
	want, least := b.each*n*bytes, math.Inf(1)
	for range 5 {
		from := threadNs()
		for range n {
			b.burn(bytes)
		}
		least = min(least, float64(threadNs()-from))
	}
	if least < .98*want || least > 1.1*want {
		t.Errorf("%.1f ms were burnt, want %.1f", least/1e6, want/1e6)
	}
}

// withBurner lets this process and its agents have the mode.
func withBurner(t *testing.T, nsPerKB float64) {
	t.Helper()
	before := modes.All
	t.Cleanup(func() { modes.All = before })
	modes.All = append(before[:len(before):len(before)], burnt(nsPerKB))
	t.Setenv(burnEnv, strconv.FormatFloat(nsPerKB, 'g', -1, 64))
}

// demoPlan is the plan of `zcbench demo`, of tcp and tcp-burnt.
func demoPlan(t *testing.T, starts int) *Experiment {
	t.Helper()
	spec := matrix.New()
	spec.Name, spec.Repetitions, spec.Duration, spec.Seed = "demo", starts, 0, 1
	spec.Ask(matrix.Question{RX: []string{"tcp", burntMode}, Paces: []int{50}, Flows: []int{1}},
		plan.Cell{Touch: "read", RXBuffer: 256 << 10, Congestion: "cubic", RcvBuf: 2 << 20, CPULayout: "1cpu",
			MessageBytes: 128 << 10})
	spec.Gates.ForeignCores, spec.Gates.Throttled = nil, nil // what others do hits both alike
	spec.Turn = 20 * time.Millisecond
	spec.TakeTurns()
	if err := spec.TurnsFit(); err != nil {
		t.Fatal(err)
	}
	spec.RampUp = 4 * spec.Turn
	return &Experiment{Spec: spec, Dir: filepath.Join(t.TempDir(), "out"), ToolVersion: version.Tool(),
		Policy: Policy{Shape: matrix.Shape{Fit: true, NoteMTU: true}}, Note: t.Logf}
}

// A receiver that is made 10 % dearer is found by the demo's plan. How much tcp takes here is asked
// by one start, and what was burnt is then held against what is told.
func TestIntegrationBurnerIsFound(t *testing.T) {
	long.Test(t)
	kind.Timed(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	if runtime.NumCPU() < 2 {
		t.Skip("has one CPU: each end needs one of its own")
	}
	price := func(j results.Journal) (ns float64, n int) {
		for i := range j.Records {
			r := &j.Records[i]
			if v := r.SUT.NsPerKB(); r.Cell.RX == "tcp" && r.Cell.PacePercent > 0 && r.Verdict == results.OK &&
				v != nil {
				ns, n = ns+*v, n+1
			}
		}
		return ns / float64(n), n
	}
	played := func(t *testing.T, e *Experiment) results.Journal {
		t.Helper()
		if _, err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		j, err := results.Read(filepath.Join(e.Dir, results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Records {
			if r := &j.Records[i]; r.Verdict != results.OK {
				t.Logf("start %d of %s: %s: %s", r.Start, r.Cell.ID, r.Verdict, r.Reason)
			}
		}
		return j
	}
	var ns float64
	if !t.Run("pilot", func(t *testing.T) {
		withBurner(t, 1)
		n := 0
		if ns, n = price(played(t, demoPlan(t, 2))); n == 0 {
			t.Fatal("no start counts")
		}
	}) {
		return
	}
	withBurner(t, ns/10)
	j := played(t, demoPlan(t, 10))
	of, n := price(j)
	truth := 1 + ns/10/of
	sum := report.Summarize(j)
	for _, f := range sum.Answers {
		t.Logf("%s: %s", f.Figure, f.Sentence)
	}
	i := slices.IndexFunc(sum.Compared.Rows, func(r compare.Row) bool {
		return r.Metric == "ns_per_kb" && r.B.RX == burntMode && r.B.PacePercent > 0
	})
	if i < 0 {
		t.Fatal("the two are not compared")
	}
	r := &sum.Compared.Rows[i]
	q := r.Diff.Ratio
	if q == nil || q.Lo == nil {
		t.Fatalf("%d starts: %+v", n, r.Diff)
	}
	t.Logf("%d starts, %.0f ns/kB and %.0f of them again burnt: %.3f times as much, seen %.3f [%.3f..%.3f], p %.2g: %s",
		n, of, ns/10, truth, q.Value, *q.Lo, *q.Hi, r.Diff.Adjusted, r.Verdict)
	if r.Verdict != "costlier" { // what it saves to come later, with more at once, is its own
		t.Errorf("10 %% more is not found: %s", r.VerdictText())
	}
}
