// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/labtest"
)

// The stages and counters of zero-copy receive see a real flow: the completions of
// each packet, no copies, buffers from the pool that zcrx fills. One that is copied
// then shows in the counter of copies.
func TestLabProbes(t *testing.T) {
	labtest.Need(t)
	labtest.Probed(t, func(read func() labtest.Probes) {
		mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, Touch: stream.TouchNone})
		wantZeroCopy(t, read())
		queue, other := 3, 1
		if _, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, Touch: stream.TouchNone,
			NIC: stream.NICQueue{Queue: &queue}, SteerTo: &other}); err != nil {
			t.Fatal(err)
		}
		if read().Counts["zcrx_copy_fallbacks"] == 0 {
			t.Error("no copy was counted")
		}
	})
}

func wantZeroCopy(t *testing.T, p labtest.Probes) {
	t.Helper()
	p.WantWay(t, "ip-receive", "tcp-receive", "tcp-enqueued", "zcrx-read", "zcrx-cqe")
	read, cqe := p.Stages["zcrx-read"], p.Stages["zcrx-cqe"]
	if got, want := float64(cqe.Count()), float64(read.Count()); got < want*.9 || got > want {
		t.Errorf("%.0f packets were read, %.0f had a completion", want, got)
	}
	if h := p.Stages["wake-return"]; h.Count() == 0 {
		t.Error("no return of a receive that data woke")
	}
	if p.Counts["zcrx_pool_allocs"] == 0 || p.Counts["page_pool_allocs"] == 0 || p.Counts["napi_polls"] == 0 ||
		p.Counts["zcrx_copy_fallbacks"] != 0 {
		t.Errorf("%v", p.Counts)
	}
	if h := p.Stages["devmem-read"]; h.Count() > 0 {
		t.Error("devmem saw the flow")
	}
}
