// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// trips is of requests and answers, which have keys of their own.
func trips(rx string) plan.Cell {
	return plan.Cell{RX: rx, TX: "rr", Request: 1000, Response: 20000, InFlight: 4}
}

// The application encrypts, and the payload comes as it was sent, by each mode that can have it, of
// one flow and of several, both ways, and of requests and answers.
func TestIntegrationUserTLS(t *testing.T) {
	for _, x := range []plan.Cell{
		{RX: "tcp", TX: "tcp"}, {RX: "uring", TX: "uring"}, {RX: "tcp", TX: "uring", Flows: 2},
		{RX: "uring", TX: "tcp", MessageBytes: 1000}, {RX: "zcrx-nodev", TX: "tcp"},
		{RX: "zcrx-nodev", TX: "tcp", Flows: 2}, {RX: "tcp", TX: "tcp", Both: new(true)},
		trips("tcp"), trips("uring"), trips("zcrx-nodev"),
	} {
		rec := newRig(t).encrypted(t, x, records.User)
		if rec.Verdict == results.Unsupported && x.RX == "zcrx-nodev" {
			t.Logf("%s: %s", rec.Cell.ID, rec.Reason)
			continue
		}
		wellEncrypted(t, &rec)
		if n := rec.SUT.Value(ofFirst(&rec, "tls_records")); !(n > 0) {
			t.Errorf("%s: %v records", rec.Cell.ID, n)
		}
	}
}

// The kernel encrypts. Where it has no kTLS the run says so and what to do, and loads nothing; and
// a veth does not do it in its place.
func TestIntegrationKTLS(t *testing.T) {
	for _, x := range []plan.Cell{
		{RX: "tcp", TX: "tcp"}, {RX: "uring", TX: "uring"}, {RX: "tcp", TX: "sendfile", Flows: 2},
		{RX: "uring", TX: "sendfile", MessageBytes: 1000}, {RX: "tcp", TX: "tcp", Both: new(true)},
		trips("tcp"), trips("uring"),
	} {
		rec := newRig(t).encrypted(t, x, records.Kernel)
		if records.Loaded() {
			wellEncrypted(t, &rec)
			if on := rec.SUT.Value(ofFirst(&rec, "tls_device")); on != 0 {
				t.Errorf("%s: the NIC has the keys: %v", rec.Cell.ID, on)
			}
			for _, h := range []*results.Host{&rec.SUT, &rec.TG} {
				if on := h.Value("tls_answers_device"); x.RoundTrips() && on != 0 {
					t.Errorf("%s: the NIC has the answers' keys: %v", rec.Cell.ID, on)
				}
			}
		} else if rec.Verdict != results.Unsupported || !strings.Contains(rec.Fix, "modprobe tls") {
			t.Errorf("%s: %s: %s (%s)", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
	}
	rec := newRig(t).encrypted(t, plan.Cell{RX: "tcp", TX: "tcp"}, records.Device)
	if rec.Verdict != results.Unsupported || !strings.Contains(rec.Reason, "tls-hw-rx-offload") {
		t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
	}
}

// encrypted plays a run whose payload is encrypted and verified.
func (r *rig) encrypted(t *testing.T, c plan.Cell, how records.How) results.Record {
	t.Helper()
	r.bounded(2 << 20)
	if len(r.sut.Info.OnlineCPUs) < 2*c.Flows {
		c.Flows = 1 // both ends are here, each flow with a CPU of its own
	}
	if c.TLS, c.Touch = string(how), "verify"; !c.RoundTrips() {
		c.MessageBytes = cmp.Or(c.MessageBytes, 256<<10)
	}
	c.ID = fmt.Sprintf("%s/%s/%s", c.RX, c.TX, how)
	return r.Runner.Run(t.Context(), matrix.Run{Cell: c})
}

// wellEncrypted fails the test unless all that came was right, and in records of TLS 1.3.
func wellEncrypted(t *testing.T, rec *results.Record) {
	t.Helper()
	version := rec.SUT.Value(ofFirst(rec, "tls_version"))
	if rec.Verdict != results.OK || *rec.SUT.Bytes == 0 || *rec.SUT.Mismatches != 0 || version != 1.3 {
		t.Errorf("%s: %s: %s; TLS %v", rec.Cell.ID, rec.Verdict, rec.Reason, version)
		return
	}
	t.Logf("%s: %.2f Gbit/s, %v bytes gathered, no_pad %v", rec.Cell.ID, *rec.SUT.ThroughputGbps,
		rec.SUT.Value(ofFirst(rec, "tls_gathered_bytes")), rec.SUT.Value(ofFirst(rec, "tls_no_pad")))
}

// ofFirst is the name of a figure of the first flow.
func ofFirst(rec *results.Record, figure string) string {
	if rec.Cell.NFlows() == 1 {
		return figure
	}
	return measure.FlowMetric(0, figure)
}
