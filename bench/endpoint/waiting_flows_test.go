// SPDX-License-Identifier: MIT

package endpoint

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// A flow that dies while others are waited for ends all at once, with its name and its reason, and
// not when the wait's limit has passed.
func TestFlowDiesWhileOthersAreWaitedFor(t *testing.T) {
	r := open(t, several(rxSpec("tcp", mib), 3))
	sch := lasting(time.Second)
	sch.PeerWaitNs = 0 // for ever
	got := background(t.Context(), r, sch)
	c, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := stream.Hello{Cookie: cookie, TXMode: "tcp", MessageBytes: mib, PeriodBytes: 4096, Flow: 1,
		Flows: 3}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	c.Close() // in good order: a reset could overtake the hello
	res := result(t, got)
	if res.Verdict != results.Failed ||
		!strings.HasPrefix(res.Reason, "flow 1: the sender ended the flow before it was welcomed") ||
		!res.BlamesPeer || res.Fix == "" {
		t.Errorf("%s %q, blames its peer: %v; fix %q", res.Verdict, res.Reason, res.BlamesPeer, res.Fix)
	}
}
