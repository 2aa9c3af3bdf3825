// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/labtest"
)

// The stages and counters of devmem TCP see a real flow: every call that gives
// tokens back, and buffers of the dmabuf's pool.
func TestLabProbes(t *testing.T) {
	labtest.Need(t)
	labtest.Probed(t, func(read func() labtest.Probes) {
		o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, Touch: stream.TouchNone})
		wantProbes(t, read(), o)
	})
}

func wantProbes(t *testing.T, p labtest.Probes, o labtest.Outcome) {
	t.Helper()
	p.WantWay(t, "ip-receive", "tcp-receive", "tcp-enqueued", "devmem-read")
	if got, want := float64(p.Counts["devmem_token_frees"]), o.Figure("devmem_setsockopt_calls"); got != want {
		t.Errorf("%.0f calls gave tokens back, %.0f were seen", want, got)
	}
	if h := p.Stages["wake-return"]; h.Count() == 0 {
		t.Error("no return of a receive that data woke")
	}
	if p.Counts["devmem_allocs"] == 0 || p.Counts["napi_polls"] == 0 {
		t.Errorf("%v", p.Counts)
	}
	if h := p.Stages["zcrx-read"]; h.Count() > 0 {
		t.Error("zcrx saw the flow")
	}
}
