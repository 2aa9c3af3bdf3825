package results

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// What is written is what the format's own reader reads.
func TestWriteBench(t *testing.T) {
	ok, warm, bad := sample(0), sample(1), sample(2)
	for _, r := range []*Record{&ok, &warm, &bad} {
		r.Verdict, r.Warmup = OK, false
		r.Cell = Cell{ID: "x", RX: "uring", TX: "uring zc/1", MTU: 4148, GRO: ptr(true)}
		r.SUT = Host{ThroughputGbps: ptr(16.5), CPUBusyCores: ptr(0.75), Env: Env{Kernel: "6.18.5", CPUModel: "Example\nCPU"}}
		r.TG = Host{}
	}
	warm.Warmup, bad.Verdict = true, Invalid
	var b bytes.Buffer
	if err := WriteBench(&b, []Record{ok, warm, bad}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\nBenchmark"); n != 1 {
		t.Errorf("%d lines in\n%s", n, b.String())
	}
	units, found := 0, 0
	for r := benchfmt.NewReader(&b, "x"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.UnitMetadata:
			units++
		case *benchfmt.Result:
			found++
			if got := rec.Name.String(); got != "Flow/rx=uring/tx=uring_zc_1/gro=on/mtu=4148" {
				t.Errorf("name %s", got)
			}
			if v, ok := rec.Value("Gbit/s"); !ok || v != 16.5 {
				t.Errorf("throughput %v", v)
			}
			if v, ok := rec.Value("sut-cores"); !ok || v != 0.75 {
				t.Errorf("cores %v", v)
			}
			if _, ok := rec.Value("tg-cores"); ok {
				t.Error("a figure that was not measured")
			}
			if got := rec.GetConfig("cpu"); got != "Example CPU" || rec.GetConfig("kernel") != "6.18.5" {
				t.Errorf("cpu %q", got)
			}
		}
	}
	if found != 1 || units != len(benchUnits) {
		t.Errorf("%d results, %d units", found, units)
	}
}
