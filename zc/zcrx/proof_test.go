// SPDX-License-Identifier: MIT

package zcrx

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// Where the kernel does not count, bytes are copied that came while the flow was seen elsewhere;
// not those of which nobody knows by which queue they came.
func TestAccountWithoutCounter(t *testing.T) {
	for name, x := range map[string]struct {
		p              proof
		copied, untold uint64
	}{
		"on its queue":        {proof{seenOn: true}, 0, 0},
		"elsewhere":           {proof{seenOn: true, elsewhere: true}, 10, 0},
		"not known":           {proof{}, 0, 10},
		"the kernel counts":   {proof{counts: true}, 0, 0},
		"it copies, all told": {proof{copiesAll: true}, 10, 0},
	} {
		var m stream.Meter
		x.p.account(10, 0, &m)
		if c := m.Snapshot(); c.CopiedBytes != x.copied || x.p.copied != x.copied || x.p.untold != x.untold ||
			c.CopiedBytes+c.ZeroCopyBytes+c.LinearBytes != 10 {
			t.Errorf("%s: %+v; %+v", name, c, x.p)
		}
		several := member{got: 10, meter: new(stream.Meter), elsewhere: x.p.elsewhere, seenOn: x.p.seenOn}
		p := proof{counts: x.p.counts, copiesAll: x.p.copiesAll}
		several.book(&p)
		if several.copied != x.copied || several.untold != x.untold || p.untold != x.untold {
			t.Errorf("%s, of several: %+v; %+v", name, several, p)
		}
	}
	// A socket that names no NAPI instance, or one that no queue has, is none that was seen
	// elsewhere.
	p := proof{seenOn: true}
	if p.look(-1, new(nicqueue.Queue)); p.elsewhere || p.seenOn {
		t.Errorf("%+v", p)
	}
}

// What came while its queue was not known is bounded by the buffers of the queue's pools, and
// where those do not tell, nobody knows whether it was copied. Either is said, with the reason.
func TestUntold(t *testing.T) {
	d, err := nic.Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, x := range []struct {
		untold, of uint64 // of the flow; of one of several
		pool       bool
		want       uint64
		note       string
	}{
		{0, 0, false, 0, ""},
		{90, 90, true, 0, "it is not known by which queue 90 bytes came (its socket has no SO_INCOMING_NAPI_ID): " +
			"those of them count as copied that do not fit into the buffers"},
		{90, 90, false, 90, "it is not known by which queue 90 bytes came (its socket has no " +
			"SO_INCOMING_NAPI_ID): nothing tells whether they were copied"},
		{90, 40, false, 40, "it is not known by which queue 40 bytes came"},
	} {
		r := &Receiver{fd: -1, queue: &nicqueue.Queue{Dev: d, Queue: nic.Queue{ID: 3}}, proof: proof{untold: x.untold},
			pool: pool{looked: true, known: x.pool}}
		var e stream.Evidence
		var m *member
		if x.of != x.untold {
			m = &member{untold: x.of}
		}
		r.admit(&e, m)
		if e.Untold != x.want || (e.Why != "") != (x.want > 0) || (e.Fix != "") != (x.want > 0) ||
			!strings.HasPrefix(strings.Join(e.Notes, "; "), x.note) || (x.note == "") != (len(e.Notes) == 0) {
			t.Errorf("%+v: %+v", x, e)
		}
	}
}
