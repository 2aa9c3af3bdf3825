// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
)

// A host of many CPUs has much to say of a long run: series of each CPU, and
// thousands of counters. All of it passes.
func TestLongAnswer(t *testing.T) {
	r := good()
	for cpu := range 512 {
		s := measure.Series{Name: fmt.Sprintf("cpu%d_busy_cores", cpu), Unit: "cores"}
		for i := range 700 {
			s.T, s.V = append(s.T, int64(i)*1e9), append(s.V, 1/float64(i+3))
		}
		r.Host.Series = append(r.Host.Series, s)
	}
	for cpu := range 512 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("foreign load on CPU %d", cpu),
			fmt.Sprintf("CPU %d: right to 0.1 cores only", cpu), fmt.Sprintf("CPU %d: columns", cpu))
	}
	r.Host.Env.CPUs, r.Host.CPUBusyCores = 512, ptr(-3.5)
	for i := range 20_000 {
		r.Host.Metrics = append(r.Host.Metrics, measure.Metric{
			Name: fmt.Sprintf("nic_rx%d_bytes", i), Unit: "bytes", Value: 1<<63 + float64(i),
			Source: "ethtool -S"})
	}
	got, size := sent(t, &r)
	if size < 8<<20 {
		t.Fatalf("%d bytes prove nothing", size)
	}
	if len(got.Host.Series) != 513 {
		t.Errorf("%d series", len(got.Host.Series))
	}
}

// The probe tcp draws series of each flow, as many as a run may have, beside those of many CPUs.
func TestAnswerOfManyFlows(t *testing.T) {
	r := good()
	one := measure.Series{Unit: "packets"}
	for i := range 10 {
		one.T, one.V = append(one.T, int64(i)*1234567890), append(one.V, float64(1<<31-i))
	}
	for n := range stream.MaxFlows {
		for k := range counter.FlowFigures() {
			one.Name = measure.FlowMetric(n, fmt.Sprintf("tcp_delivery_rate%d_bytes_ps", k))
			r.Host.Series = append(r.Host.Series, one)
		}
	}
	for cpu := range 1024 {
		one.Name = fmt.Sprintf("cpu%d_busy_cores", cpu)
		r.Host.Series = append(r.Host.Series, one)
	}
	if got, _ := sent(t, &r); len(got.Host.Series) != len(r.Host.Series) {
		t.Errorf("%d series, want %d", len(got.Host.Series), len(r.Host.Series))
	}
	r.Host.Series = make([]measure.Series, mostSeries+mostFlowSeries()+1)
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "series") {
		t.Errorf("more than any: %v", err)
	}
}

// sent is an account as the controller gets it, and how many bytes were sent.
func sent(t *testing.T, r *EndResult) (got EndResult, size int) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := NewEncoder(&line).Encode(Response{ID: 1, Result: b}); err != nil {
		t.Fatal(err)
	}
	var resp Response
	if err := NewDecoder(&line).Decode(&resp); err != nil {
		t.Fatal(err)
	}
	if err := resp.Vet(); err != nil {
		t.Fatal(err)
	}
	if err := resp.Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got, len(b)
}

// What is short to send and long to keep is refused before it is kept.
func TestAnswerThatFillsMemory(t *testing.T) {
	many := func(one string) string { return strings.Repeat(one+",", MaxLine/8) + one }
	for name, c := range map[string]struct {
		result string
		into   any
	}{
		"objects":         {"[" + many("{}") + "]", new([]Interface)},
		"null":            {"[" + many("null") + "]", new([]Interface)},
		"of a wrong kind": {"[" + many("0") + "]", new([]Ladder)},
		"lists":           {"[" + many("[]") + "]", new([]Interface)},
		"series":          {`{"host":{"series":[` + many("0") + `]}}`, new(EndResult)},
		"metrics":         {`{"host":{"metrics":[` + many("{}") + `]}}`, new(EndResult)},
		"a false name":    {`{"host":{"series":[{"v":1,"t_ns":[]},` + many("0") + `]}}`, new(EndResult)},
		"in quotes":       {`{"reason":"\\","warnings":[` + many(`"\\\""`) + `]}`, new(EndResult)},
	} {
		result := []byte(c.result)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Response{Result: result}.Decode(c.into)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "elements") {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes were taken", name, n)
		}
	}
}
