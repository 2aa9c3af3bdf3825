// SPDX-License-Identifier: MIT

package power

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
)

const second = int64(time.Second)

// meter is a trace of a power channel, one reading a second from 0.
func meter(watts ...float64) Trace {
	t := Trace{Info: info{Name: "meter", Scope: ScopeWall, Uncertainty: 0.01,
		Averages: time.Second, Channels: []channel{{Name: "wall", Kind: power}}}, Interval: time.Second}
	for i, w := range watts {
		v := int64(none)
		if w >= 0 {
			v = int64(w * 1e6)
		}
		t.Samples = append(t.Samples, sample{AtNs: int64(i) * second, V: []int64{v}})
	}
	return t
}

func TestMeanOfPower(t *testing.T) {
	x := meter(100, 100, 200, 200, 100, 100)
	for _, tt := range []struct {
		from, to int64
		want     float64
	}{{0, 1, 100}, {1, 2, 150}, {2, 3, 200}, {0, 5, 140}} {
		m, err := x.Sum(tt.from*second, tt.to*second)
		if err != nil || m.Watts != tt.want {
			t.Errorf("mean of %d..%d s = %v, %v; want %v", tt.from, tt.to, m.Watts, err, tt.want)
		}
	}
	// Uneven readings: 1 s at 100, then 9 s at 200.
	y := Trace{Info: x.Info, Interval: 10 * time.Second, Samples: []sample{{AtNs: 0, V: []int64{100e6}},
		{AtNs: second, V: []int64{100e6}}, {AtNs: second, V: []int64{200e6}}, {AtNs: 10 * second, V: []int64{200e6}}}}
	if m, err := y.Sum(0, 10*second); err != nil || m.Watts != 190 {
		t.Errorf("uneven: %v, %v", m.Watts, err)
	}
}

// In the guard the load is that of the window: the nearest reading there serves
// for the window's edge. Beyond it none does.
func TestMeanWithGuard(t *testing.T) {
	x := meter(100, 200, 300, 300)
	half := second / 2
	if _, err := x.Sum(second+half, 2*second+half); err == nil {
		t.Error("one reading made a mean")
	}
	x.before, x.after = second, second
	if m, err := x.Sum(second+half, 2*second+half); err != nil || m.Watts != 287.5 { // 250..300, then 300
		t.Errorf("%v, %v", m, err)
	}
	// A counter at 100 W in the guard before and 300 W from then on.
	e := meter(0, 100, 400, 700, 1000)
	e.Info.Channels[0].Kind = energy
	e.before, e.after = second, second
	if m, err := e.Sum(second+half, 3*second+half); err != nil || m.Watts != 300 {
		t.Errorf("a counter: %v, %v", m, err)
	}
	x.before = second / 10
	if m, err := x.Sum(second+half, 2*second+half); err != nil || m.Watts != 300 {
		t.Errorf("a reading before the guard was used: %v, %v", m, err)
	}
}

// A source that stops answering has no figure, whatever it said before.
func TestStoppedSource(t *testing.T) {
	dead := meter(100, 100, 100, 100, -1, -1, -1, -1, -1, -1)
	dead.Failures = []failure{{AtNs: 5 * second, Why: "no answer in time"}}
	hole := meter(100, 100, 100, -1, -1, -1, -1, 100, 100, 100)
	lost := meter(100, 100, 100)
	lost.Samples[1].Gap = true
	for name, tt := range map[string]struct {
		t        Trace
		from, to int64
		say      string
	}{
		"died":         {dead, 0, 9, "no answer in time"},
		"silent":       {dead, 5, 9, "no reading"},
		"hole":         {hole, 0, 9, "did not answer for 5s"},
		"never":        {meter(), 0, 9, "no reading"},
		"gap":          {lost, 0, 2, "energy was lost"},
		"too late":     {meter(-1, -1, -1, 100, 100), 0, 4, "cover 1s of 4s"},
		"other window": {meter(100, 100), 50, 60, "no reading"},
	} {
		m, err := tt.t.Sum(tt.from*second, tt.to*second)
		if missing := (*missing)(nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v W, error %v; want %q", name, m.Watts, err, tt.say)
		}
	}
	if _, err := lost.Sum(second, 2*second); err != nil {
		t.Errorf("a gap before the window is outside of it: %v", err)
	}
}

func TestMeasure(t *testing.T) {
	var w []float64
	for i := range 75 { // load 16..45, which no round figures hide the step of
		switch {
		case i >= 16 && i < 46:
			w = append(w, 301.3)
		default:
			w = append(w, 101.3)
		}
	}
	at := Times{IdleBefore: Window{5 * second, 15 * second}, Load: Window{25 * second, 35 * second},
		IdleAfter: Window{57 * second, 67 * second}, GuardNs: 10 * second}
	f := Measure(meter(w...), at)
	if f.GrossW == nil || *f.GrossW != 301.3 || math.Abs(*f.IdleW-101.3) > 1e-9 || len(f.Flags) > 0 || f.Why != "" {
		t.Fatalf("%+v", f)
	}
	// A limit of 1 % of 301.3 W, and of 200, each as a standard uncertainty.
	if math.Abs(*f.GrossU-3.013/math.Sqrt(3)) > 1e-9 || math.Abs(*f.NetU-2/math.Sqrt(3)) > 1e-9 ||
		*f.SharedU != *f.GrossU {
		t.Errorf("uncertainty %v, net %v, shared %v", *f.GrossU, *f.NetU, *f.SharedU)
	}
	all := append(f.Metrics, f.PerByte(p(10.0), p(uint64(20e9)))...)
	want := map[string]float64{"power_meter_w": 301.3, "power_meter_idle_w": 101.3, "power_meter_net_w": 200,
		"power_meter_uncertainty_w": 3.013 / math.Sqrt(3), "power_meter_shared_uncertainty_w": 3.013 / math.Sqrt(3),
		"power_meter_scatter_w": 0, "power_meter_idle_drift": 0,
		"power_meter_joule_per_gb": 150.65, "power_meter_net_joule_per_gb": 100,
		"power_meter_joule_per_gb_uncertainty": 3.013 / math.Sqrt(3) / 2, "power_meter_failed_readings": 0}
	for name, v := range want {
		if got := metric(t, all, name); math.Abs(got.Value-v) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, got.Value, v)
		}
	}
	if len(f.Series) != 1 || f.Series[0].T[0] != -20*second || f.Series[0].V[0] != 101.3 {
		t.Errorf("series %+v", f.Series)
	}
}

func TestMeasureFlags(t *testing.T) {
	w := []float64{101.3, 101.3, 101.3, 101.3, 301.3, 301.3, 301.3, 301.3, 111.3, 111.3, 111.3, 111.3}
	at := Times{IdleBefore: Window{0, 3 * second}, Load: Window{4 * second, 7 * second},
		IdleAfter: Window{8 * second, 11 * second}, GuardNs: second, SkewNs: 60e6}
	f := Measure(meter(w...), at)
	if got := strings.Join(f.Flags, " "); got != FlagShortGuard+" "+FlagSkew {
		t.Errorf("flags %q", got)
	}
	// Idle went from 101.3 to 111.3 W: while the load ran it was 106.3, give or take 5.
	if want := math.Hypot(.01*195, 5) / math.Sqrt(3); math.Abs(*f.NetU-want) > 1e-9 ||
		math.Abs(*f.Drift-10./106.3) > 1e-9 {
		t.Errorf("net uncertainty %v, drift %v; want %v", *f.NetU, *f.Drift, want)
	}
	at.IdleAfter = Window{}
	if f = Measure(meter(w...), at); f.Flags[0] != FlagNoIdle || *f.IdleW != 101.3 {
		t.Errorf("%+v", f)
	}
	at.Load = Window{20 * second, 30 * second}
	f = Measure(meter(w...), at)
	if f.GrossW != nil || f.Source != "meter" || f.Why == "" || f.Flags[0] != FlagMissing ||
		f.PerByte(p(10.0), p(uint64(20e9))) != nil {
		t.Errorf("a source without a figure: %+v", f)
	}
}

// What is above idle is marked where idle power drifted by more than the run's own gate lets it.
func TestMeasureDriftGate(t *testing.T) {
	w := []float64{100, 100, 100, 100, 300, 300, 300, 300, 105, 105, 105, 105} // 4.9 % apart
	at := Times{IdleBefore: Window{0, 3 * second}, Load: Window{4 * second, 7 * second},
		IdleAfter: Window{8 * second, 11 * second}, GuardNs: second}
	for _, x := range []struct {
		limit       *float64
		drift, idle string
	}{
		{p(.02), "idle power went from 100.0 to 105.0 W", FlagIdleDrift},
		{p(.04), "idle power went from 100.0 to 105.0 W", FlagIdleDrift},
		{p(.05), "", ""},
		{nil, "", ""},
	} {
		at.MostDrift = x.limit
		f := Measure(meter(w...), at.Add(second).Add(-second))
		if q := metric(t, f.Metrics, "power_meter_idle_drift").Quality; q != x.drift {
			t.Errorf("limit %v: the drift is marked %q", x.limit, q)
		}
		for _, name := range []string{"power_meter_idle_w", "power_meter_net_w", "power_meter_net_uncertainty_w"} {
			if q := metric(t, f.Metrics, name).Quality; q != x.idle {
				t.Errorf("limit %v: %s is marked %q, want %q", x.limit, name, q, x.idle)
			}
		}
	}
}

func metric(t *testing.T, ms []measure.Metric, name string) measure.Metric {
	t.Helper()
	for _, m := range ms {
		if m.Name == name {
			return m
		}
	}
	t.Errorf("no metric %s", name)
	return measure.Metric{}
}

func p[T any](v T) *T { return &v }

// energy is what an energy channel counted between the first and the last
// reading of an interval: exact, in microjoules, with the time between them.
func (t *Trace) energy(c int, fromNs, toNs int64) (uj int64, over time.Duration, err error) {
	in := t.inside(c, fromNs, toNs)
	if err := t.check(in, fromNs, toNs, true); err != nil {
		return 0, 0, err
	}
	a, b := in[0], in[len(in)-1]
	return b.V[c] - a.V[c], time.Duration(b.AtNs - a.AtNs), nil
}
