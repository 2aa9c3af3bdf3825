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

// A NIC that has not taken the keys spoils a run that asks for it, and one that has taken them a
// run that does not: nothing else tells.
func TestEncryptedByWhom(t *testing.T) {
	for _, x := range []struct {
		tls    string
		role   stream.Role
		device bool
		say    string
	}{
		{"ktls-hw", stream.RX, true, ""}, {"ktls-hw", stream.TX, true, ""},
		{"ktls-hw", stream.RX, false, "TlsRxDevice"}, {"ktls-hw", stream.TX, false, "TlsTxDevice"},
		{"ktls", stream.RX, false, ""}, {"ktls", stream.TX, false, ""},
		{"ktls", stream.RX, true, "the NIC has taken the keys (TlsRxDevice"}, {"user", stream.RX, false, ""},
		{"", stream.RX, false, ""},
	} {
		e := &Evidence{Role: x.role, Cell: &plan.Cell{TLS: x.tls}, Flows: make([]Flow, 2)}
		for i := range e.Flows {
			e.Flows[i] = Flow{N: i, Counted: stream.Counters{Bytes: 1}, Taken: 1, Moved: true}
			if x.tls != "" {
				e.Flows[i].TLS = &stream.Encryption{Version: records.TLS12,
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
