// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Every way to encrypt brings the payload as it was sent, by each mode that can have it, of one flow
// and of several; where the kernel has no kTLS the run says so and what to do, and loads nothing.
func TestIntegrationTLS(t *testing.T) {
	r := newRig(t)
	r.bounded(8 << 20)
	for _, x := range []plan.Cell{
		{RX: "tcp", TX: "tcp", TLS: "user"}, {RX: "uring", TX: "uring", TLS: "user"},
		{RX: "tcp", TX: "uring", TLS: "user", Flows: 2}, {RX: "uring", TX: "tcp", TLS: "user", MessageBytes: 1000},
		{RX: "zcrx-nodev", TX: "tcp", TLS: "user"}, {RX: "zcrx-nodev", TX: "tcp", TLS: "user", Flows: 2},
		{RX: "tcp", TX: "tcp", TLS: "user", Both: new(true)},
		{RX: "tcp", TX: "tcp", TLS: "ktls"}, {RX: "uring", TX: "uring", TLS: "ktls"},
		{RX: "tcp", TX: "sendfile", TLS: "ktls", Flows: 2}, {RX: "uring", TX: "sendfile", TLS: "ktls", MessageBytes: 1000},
		{RX: "tcp", TX: "tcp", TLS: "ktls", Both: new(true)},
		{RX: "tcp", TX: "tcp", TLS: "ktls-hw"},
	} {
		if x.Flows > 1 && len(r.sut.Info.OnlineCPUs) < 2*x.Flows {
			x.Flows = 1 // both ends are here, each flow with a CPU of its own
		}
		x.ID, x.Touch, x.MessageBytes = x.RX+"/"+x.TX+"/"+x.TLS, "verify", cmp.Or(x.MessageBytes, 1<<20)
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: x})
		how := records.How(x.TLS)
		switch {
		case how.InKernel() && !records.Loaded():
			if rec.Verdict != results.Unsupported || !strings.Contains(rec.Fix, "modprobe tls") {
				t.Errorf("%s: %s: %s (%s)", x.ID, rec.Verdict, rec.Reason, rec.Fix)
			}
			continue
		case rec.Verdict == results.Unsupported && x.RX == "zcrx-nodev":
			t.Logf("%s: %s", x.ID, rec.Reason)
			continue
		case how == records.Device:
			if rec.Verdict != results.Invalid && rec.Verdict != results.Unsupported {
				t.Errorf("%s: a veth encrypts: %s: %s", x.ID, rec.Verdict, rec.Reason)
			}
			t.Logf("%s: %s: %s (%s)", x.ID, rec.Verdict, rec.Reason, rec.Fix)
			continue
		}
		if rec.Verdict != results.OK || rec.SUT.Mismatches == nil || *rec.SUT.Mismatches != 0 || *rec.SUT.Bytes == 0 {
			t.Errorf("%s: %s: %s", x.ID, rec.Verdict, rec.Reason)
			continue
		}
		first := ""
		if x.Flows > 1 {
			first = "flow_0_"
		}
		version, taken := rec.SUT.Value(first+"tls_version"), rec.SUT.Value(first+"tls_records")
		if version != 1.3 || how == records.User && !(taken > 0) {
			t.Errorf("%s: TLS %v, %v records", x.ID, version, taken)
		}
		t.Logf("%s: %.1f Gbit/s, %v bytes gathered", x.ID, *rec.SUT.ThroughputGbps,
			rec.SUT.Value(first+"tls_gathered_bytes"))
	}
}
