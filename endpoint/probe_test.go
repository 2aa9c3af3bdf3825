package endpoint

import (
	"testing"

	"github.com/zcbench/zcbench/bpf"
)

// A stage that saw nothing is not measured: it has no rows, and no zeros.
func TestLatencyMetrics(t *testing.T) {
	var h bpf.Hist
	if rows := latencyMetrics("tcp-read", "eBPF", &h); len(rows) != 0 {
		t.Errorf("an empty stage has rows: %v", rows)
	}
	h.Unstamped = 3
	rows := latencyMetrics("tcp-read", "eBPF", &h)
	if len(rows) != 3 || rows[1].Name != "latency_tcp_read_unstamped" || rows[1].Value != 3 {
		t.Errorf("rows of unstamped packets: %v", rows)
	}
	h.Bucket[100], h.Sum, h.Max = 10, 10*bpf.Edge(100), bpf.Edge(100)
	for _, r := range latencyMetrics("tcp-read", "eBPF", &h) {
		if r.Name == "latency_tcp_read_p99" {
			if r.Value != float64(bpf.Edge(100)) || r.Unit != "ns" {
				t.Errorf("p99: %+v", r)
			}
			return
		}
	}
	t.Error("no p99")
}
