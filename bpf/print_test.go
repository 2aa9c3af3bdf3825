// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/plaintext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what is printed.
func golden(t *testing.T, name string, print func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := print(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// A stage that saw nothing has no row; one that measured nothing has no figures.
func TestPrintLatency(t *testing.T) {
	stages := []StageHist{
		{"tcp-do-rcv", *histOf(900, 1000, 1100, 250_000)},
		{"tcp-enqueued", Hist{}},
		{"tcp-read", Hist{Negative: 1, Unstamped: 3}},
		{"wake-return", *histOf(1 << 40)},
	}
	golden(t, "latency.golden", func(w io.Writer) error { return PrintLatency(w, stages) })
}

func TestPrintHistogram(t *testing.T) {
	values := []uint64{0, 1, 2, 3, 1024, 2047, 2048, 1 << 40}
	for range 100 {
		values = append(values, 5000)
	}
	golden(t, "histogram.golden",
		func(w io.Writer) error { return PrintHistogram(w, StageHist{"tcp-read", *histOf(values...)}) })
	var b bytes.Buffer
	if err := PrintHistogram(&b, StageHist{Stage: "udp-read"}); err != nil || b.Len() > 0 {
		t.Errorf("nothing seen: %q, %v", &b, err)
	}
}

// callsOf is a system call that took so long, each time.
func callsOf(name string, errors uint64, took ...time.Duration) Call {
	c := Call{Name: name, Errors: errors, Calls: uint64(len(took)), Min: took[0], Max: took[0]}
	for _, d := range took {
		c.Sum, c.Min, c.Max = c.Sum+d, min(c.Min, d), max(c.Max, d)
		c.squares += float64(d) * float64(d)
	}
	return c
}

func TestPrintCalls(t *testing.T) {
	const us = time.Microsecond
	calls := []Call{
		callsOf("io_uring_enter", 0, 1500*us, 2500*us, 2000*us),
		callsOf("recvfrom", 2, 3*us, 5*us, 4*us, 4*us),
		callsOf("close", 1, 800), // of one there is no deviation
	}
	golden(t, "calls.golden", func(w io.Writer) error { return PrintCalls(w, calls, 2*time.Second, 0) })
	golden(t, "calls_bytes.golden", func(w io.Writer) error { return PrintCalls(w, calls, 2*time.Second, 4_000_000) })
}

func TestPrintCosts(t *testing.T) {
	costs := []Cost{
		{Hook: Hook{Stage: "tcp-do-rcv", Backend: "tp_btf", Function: "tcp_probe"}, Runs: 9609, Ns: 168, FloorNs: 51,
			Reference: 391, Hz: 7195, Core: 117e-9 * 7195},
		{Hook: Hook{Stage: "wake-return", Backend: "tp_btf", Function: "sk_data_ready"}, Runs: 8349, Ns: 112,
			FloorNs: 44, Hz: 6251, Core: 68e-9 * 6251},
		{Hook: Hook{Stage: "zcrx-cqe", Backend: "fexit", Function: "io_zcrx_recv_skb"}},
		// the empty one had no run
		{Hook: Hook{Stage: "stamp", Backend: "tcx", Function: "ingress of lo, eth0"}, Runs: 12, Ns: 60, Hz: 3},
	}
	golden(t, "costs.golden", func(w io.Writer) error { return PrintCosts(w, costs) })
}

func TestPrintHooks(t *testing.T) {
	hooks := []Hook{
		{Stage: "tcp-read", Backend: "fentry", Function: "skb_copy_datagram_iter", Reason: "the kernel refuses fentry",
			Replaced: true},
		{Stage: "tcp-read", Backend: "tp_btf", Function: "skb_copy_datagram_iovec"},
		{Stage: "tcp-receive", Backend: "fentry", Function: "tcp_v4_rcv", Reason: "the kernel refuses fentry"},
		{Stage: "tcp-receive", Backend: "fentry", Function: "tcp_v6_rcv", Reason: "the kernel refuses fentry"},
		{Stage: "ip-receive", Reason: "runs in softirq"},
	}
	golden(t, "hooks.golden", func(w io.Writer) error { return PrintHooks(w, hooks) })
	for i := range 20 {
		hooks = append(hooks, Hook{Stage: "tcp-receive", Backend: "fentry", Function: fmt.Sprintf("tcp_function_%d", i),
			Reason: "the kernel refuses fentry"})
	}
	var b bytes.Buffer
	if err := PrintHooks(&b, hooks); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > plaintext.Width+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if err := PrintHooks(&b, hooks[:2]); err != nil || strings.Count(b.String(), "missing\n") != 1 {
		t.Errorf("nothing is missing: %v, %s", err, &b)
	}
}
