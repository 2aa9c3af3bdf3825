// SPDX-License-Identifier: MIT

package compare

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// A verdict about receivers says when nobody read what they received.
func TestVerdictOfUnconsumed(t *testing.T) {
	slow, fast := []float64{100, 101, 99, 100.5, 99.5, 100.2}, []float64{200, 202, 198, 201, 199, 200.4}
	cell := func(id, rx, tx, touch string) plan.Cell { return plan.Cell{ID: id, RX: rx, TX: tx, Touch: touch} }
	for _, x := range []struct {
		a, b plan.Cell
		gbps []float64
		want string
	}{
		{cell("a", "tcp", "tcp", ""), cell("b", "uring", "tcp", ""), fast, "faster (payload not consumed)"},
		{cell("a", "tcp", "tcp", "none"), cell("b", "uring", "tcp", "none"), fast, "faster (payload not consumed)"},
		{cell("a", "tcp", "tcp", "verify"), cell("b", "uring", "tcp", "verify"), fast, "faster"},
		{cell("a", "tcp", "tcp", "read"), cell("b", "tcp", "tcp", "none"), fast, "faster (payload not consumed in B)"},
		{cell("a", "tcp", "tcp", ""), cell("b", "tcp", "tcp", "read"), fast, "faster (payload not consumed in A)"},
		{cell("a", "tcp", "tcp", "none"), cell("b", "tcp", "sendfile", "none"), fast, "faster"}, // of senders
		{cell("a", "tcp", "tcp", "none"), cell("b", "uring", "tcp", "none"), slow,
			"equal within 5 % (payload not consumed)"},
	} {
		s := set("s", map[plan.Cell][]float64{x.a: slow, x.b: x.gbps})
		r, err := Within(&s, x.a, metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		r.Within(.05)
		if got := r.Rows[0].VerdictText(); got != x.want {
			t.Errorf("%s touch %q and %s touch %q: %q, want %q", x.a.RX, x.a.Touch, x.b.RX, x.b.Touch, got, x.want)
		}
	}
	if !consumed(&plan.Cell{RX: "tcp", Then: plan.ThenSplice}) {
		t.Error("what is passed on is used")
	}
	if !consumed(&plan.Cell{RX: "zcrx", TLS: "user"}) || consumed(&plan.Cell{RX: "tcp", TLS: "ktls"}) {
		t.Error("who decrypts reads it")
	}
	if consumed(&plan.Cell{RX: "tcp-trunc", Touch: "read"}) {
		t.Error("tcp-trunc never has the payload")
	}
}
