// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
)

// fake is a source that a test steers.
type fake struct {
	watts  atomic.Int64 // -1: fails, -2: hangs whatever the context says
	hangs  atomic.Bool
	unhang chan struct{}
}

func (f *fake) Info() info {
	return info{Name: "fake", Scope: ScopeWall, Uncertainty: 0.01, Channels: []channel{{Name: "wall", Kind: power}}}
}

func (f *fake) Read(ctx context.Context, v []int64) error {
	switch w := f.watts.Load(); w {
	case -1:
		return errors.New("broken")
	case -2:
		f.hangs.Store(true)
		<-f.unhang
		return nil
	default:
		v[0] = w * 1e6
		return nil
	}
}

func (f *fake) Close() error { return nil }

// One source that hangs holds up neither the others nor the end.
func TestSamplerHang(t *testing.T) {
	t.Parallel() // it waits
	good, bad := &fake{}, &fake{unhang: make(chan struct{})}
	defer close(bad.unhang)
	good.watts.Store(100)
	bad.watts.Store(100)
	s := Start([]Source{good, bad}, 10*time.Millisecond)
	from := counter.Monotonic()
	await.Until(t, "the other one has readings",
		func() bool { return len(s.Traces(from, from+int64(time.Hour))[1].Samples) >= 3 })
	bad.watts.Store(-2)
	await.Until(t, "it hangs", bad.hangs.Load)
	hung := counter.Monotonic()
	await.Until(t, "the good source is read meanwhile",
		func() bool { return len(s.Traces(hung, hung+int64(time.Hour))[0].Samples) >= 5 })
	now := counter.Monotonic()
	ts := s.Traces(hung, now)
	if m, err := ts[0].Sum(ts[0].Samples[0].AtNs, ts[0].Samples[len(ts[0].Samples)-1].AtNs); err != nil ||
		m.Watts != 100 {
		t.Errorf("the good source: %v, %v", m, err)
	}
	if m, err := ts[1].Sum(hung, now); err == nil {
		t.Errorf("the one that hangs has %v W", m.Watts)
	}
	err := s.Close()
	if err == nil || !strings.Contains(err.Error(), "abandoned") {
		t.Errorf("close: %v", err)
	}
}

func TestSamplerFailures(t *testing.T) {
	f := &fake{}
	f.watts.Store(-1)
	s := Start([]Source{f}, 10*time.Millisecond)
	defer s.Close()
	from := counter.Monotonic()
	await.Until(t, "it is read", func() bool { return s.Cost()[0].Reads >= 5 })
	now := counter.Monotonic()
	tr := s.Traces(from, now)[0]
	if _, err := tr.Sum(from, now); err == nil || !strings.Contains(err.Error(), "broken") || tr.Failed == 0 {
		t.Errorf("%v, %d failed", err, tr.Failed)
	}
	if c := s.Cost()[0]; !(c.Cores > 0 && c.Cores < 1) {
		t.Errorf("cost %+v", c)
	}
}

// Every failure of a long outage is counted, and the newest say why, until they
// are forgotten.
func TestSamplerLongOutage(t *testing.T) {
	f := &fake{}
	s := Start([]Source{f}, time.Hour)
	defer s.Close()
	r := s.readers[0]
	const n = 6000
	for i := range int64(n) {
		r.mu.Lock()
		r.fail(i*second, fmt.Errorf("broken %d", i))
		r.mu.Unlock()
	}
	at := Times{Load: Window{5000 * second, 5999 * second}, IdleBefore: Window{100 * second, 200 * second}}
	figures, _ := s.Measure(at)
	if got := metric(t, figures[0].Metrics, "power_fake_failed_readings").Value; got != 5900 {
		t.Errorf("%v readings failed, want 5900", got)
	}
	if want := "broken 5999"; !strings.HasSuffix(figures[0].Why, want) {
		t.Errorf("it says %q, want %q", figures[0].Why, want)
	}
	s.Forget(5990 * second)
	tr := s.Traces(0, 2*n*second)[0]
	if len(tr.Failures) != 10 || tr.Failures[0].AtNs != 5990*second || tr.Failed != n {
		t.Errorf("%d failures left, %d in all", len(tr.Failures), tr.Failed)
	}
}

// What does not fit any more is a failure, and not a silence.
func TestSamplerFull(t *testing.T) {
	f := &fake{}
	f.watts.Store(100)
	r := &reader{src: f, limit: readTime, most: 3, trace: Trace{Info: f.Info()}}
	for range 5 {
		r.read(t.Context())
	}
	if tr := r.between(0, math.MaxInt64-1); len(tr.Samples) != 3 || tr.Failed != 2 || len(tr.Failures) != 2 ||
		!strings.Contains(tr.Failures[1].Why, "3 readings are kept") {
		t.Errorf("%+v", tr)
	}
}

func TestCommand(t *testing.T) {
	once := mustOpen(t, "command=echo 143.5 W")
	if v, err := readLong(t, once); err != nil || v != 143_500_000 {
		t.Errorf("%v, %v", v, err)
	}
	if n := mustOpen(t, "command=/bin/echo 5").Info().Name; n != "command=echo" {
		t.Errorf("its name is %q", n)
	}
	if n := mustOpen(t, "command=echo 5 # pass?name=meter&scope=wall").Info().Name; n != "command=meter" {
		t.Errorf("its name is %q", n)
	}
	if once.(spender).SpentNs() <= 0 {
		t.Error("running it costs nothing?")
	}
	for text, say := range map[string]string{"echo hello": "not a number", "echo NaN": "no reading",
		"exit 3": "exit status 3", "echo why >&2; exit 1": "why", "true": "without printing anything",
		"echo -5":       "implausible",
		"nosuchcommand": "not found"} {
		if _, err := open(t, "command="+text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", text, err, say)
		}
	}
	dir := t.TempDir()
	stream := mustOpen(
		t, fmt.Sprintf(
			"command=echo $$ > %s/pid; while :; do cat %s/w 2>/dev/null || echo 50; sleep 0.05; done?scope=wall", dir,
			dir))
	if v, err := readLong(t, stream); err != nil || v != 50e6 || stream.Info().Scope != ScopeWall {
		t.Errorf("%v, %v", v, err)
	}
	write(t, filepath.Join(dir, "w.new"), "60\n")
	if err := os.Rename(filepath.Join(dir, "w.new"), filepath.Join(dir, "w")); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the newest line is read", func() bool {
		v, err := readLong(t, stream)
		return err == nil && v == 60e6
	})
}

// A command that goes silent has no reading, though it once printed.
func TestCommandGoesSilent(t *testing.T) {
	src := mustOpen(t, "command=echo 50; sleep 60")
	src.(*command).info.MinInterval = 10 * time.Millisecond
	await.Pause("what it printed is to be too old", 20*time.Millisecond)
	if v := []int64{none}; src.Read(await.Ending(t, 100*time.Millisecond), v) == nil {
		t.Errorf("it reads %v", v)
	}
}

func TestCSV(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.csv")
	from := counter.Monotonic()
	start := time.Now()
	until := counter.Monotonic() + int64(2*time.Second)
	var text strings.Builder
	text.WriteString("time,watts\n")
	for i := range 11 {
		// the logger's clock is 2 s ahead
		fmt.Fprintf(&text, "%.3f,%d\n", float64(start.UnixMilli()+2000+int64(i)*100)/1000, 100+i)
	}
	write(t, file, text.String()+"17")
	src := mustOpen(t, "csv="+file+"?offset=2s&uncertainty=0.5%")
	s := Start([]Source{src}, time.Second)
	defer s.Close()
	tr := s.Traces(from-1e7, until)[0]
	if len(tr.Samples) != 11 {
		t.Fatalf("%d samples: %+v", len(tr.Samples), tr.Failures)
	}
	if m, err := tr.Sum(tr.Samples[0].AtNs, tr.Samples[10].AtNs); err != nil || m.Watts < 104.999 ||
		m.Watts > 105.001 || tr.Interval.Round(time.Millisecond) != 100*time.Millisecond {
		t.Errorf("%v, %v, interval %v", m, err, tr.Interval)
	}
	for name, tt := range map[string]struct{ text, say string }{
		"garbage":      {"1,2\nxyz\n", "log.csv:2: "},
		"not a number": {"1,volts\n2,x\n", ":1: "},
	} {
		write(t, file, tt.text)
		if tr := s.Traces(0, from)[0]; len(tr.Failures) != 1 || !strings.Contains(tr.Failures[0].Why, tt.say) {
			t.Errorf("%s: %+v", name, tr.Failures)
		}
	}
}

func FuzzSpec(f *testing.F) {
	for _, k := range kinds {
		f.Add("sut:" + k.example)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		again, err := ParseSpec(s.full())
		if err != nil || again.full() != s.full() {
			t.Errorf("%q: %q, then %q, %v", text, s.full(), again.full(), err)
		}
	})
}
