// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// keptAnswers are keys of answers that the NIC has, or has not.
func keptAnswers(device bool) *records.Kept { return &records.Kept{Device: device} }

// A NIC that has not taken the keys spoils a run that asks for it, and one that has taken them a
// run that does not: nothing else tells.
func TestEncryptedByWhom(t *testing.T) {
	for _, x := range []struct {
		tls    string
		role   stream.Role
		device bool
		back   *records.Kept
		say    string
	}{
		{"ktls-hw", stream.RX, true, nil, ""}, {"ktls-hw", stream.TX, true, nil, ""},
		{"ktls-hw", stream.RX, false, nil, "TlsRxDevice"}, {"ktls-hw", stream.TX, false, nil, "TlsTxDevice"},
		{"ktls", stream.RX, false, nil, ""}, {"ktls", stream.TX, false, nil, ""},
		{"ktls", stream.RX, true, nil, "the NIC has taken the keys (TlsRxDevice"}, {"user", stream.RX, false, nil, ""},
		{"", stream.RX, false, nil, ""},
		{"ktls", stream.RX, false, keptAnswers(false), ""}, {"ktls", stream.TX, false, keptAnswers(false), ""},
		{"ktls", stream.RX, false, keptAnswers(true), "taken the answers' keys (TlsTxDevice"},
		{"ktls", stream.TX, false, keptAnswers(true), "taken the answers' keys (TlsRxDevice"},
		{"ktls", stream.RX, true, keptAnswers(true), "taken the keys (TlsRxDevice"},
		{"ktls-hw", stream.RX, true, keptAnswers(false), "not taken the answers' keys of TLS 1.2"},
	} {
		e := &Evidence{Role: x.role, Cell: &plan.Cell{TLS: x.tls}, Flows: make([]Flow, 2)}
		for i := range e.Flows {
			e.Flows[i] = Flow{N: i, Counted: stream.Counters{Bytes: 1}, Taken: 1, Moved: true}
			if x.tls != "" {
				e.Flows[i].TLS = &stream.Encryption{Version: records.TLS12, KeptAnswers: x.back,
					Kept: records.Kept{Device: x.device || i == 0 && x.tls == "ktls-hw"}}
			}
		}
		v := e.Judge()
		if (v.Verdict == results.OK) != (x.say == "") || !strings.Contains(v.Reason, x.say) ||
			(v.Reason != "") != (v.Fix != "") {
			t.Errorf("%+v: %s: %s (%s)", x, v.Verdict, v.Reason, v.Fix)
		}
		if x.tls == "ktls-hw" && !x.device && !strings.HasPrefix(v.Reason, "flow 1: ") {
			t.Errorf("%+v: the first flow's keys were taken, the second's not: %s", x, v.Reason)
		}
	}
}
