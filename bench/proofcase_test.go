// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
)

// proofRecord is a record of case c that shows what it has to.
func proofRecord(c ProofCase) results.Record {
	const n = ProofBytes
	r := results.Record{Cell: c.Cell, Verdict: c.verdict()}
	if c.Invalid != "" {
		r.Reason = "SUT: the kernel copied 100.0 %: the flow landed on queue 0" + c.Invalid + "3"
	}
	var zero, all uint64 = 0, n
	r.SUT.TotalBytes, r.SUT.Bytes, r.SUT.Mismatches = &all, &all, &zero
	r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = &all, &zero
	if c.Copies {
		r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = nil, nil
	} else if c.Invalid != "" {
		r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = &zero, &all
	}
	in := map[Place]string{inProvider: nicProviderBytes, inKernel: nicKernelBytes}
	for place, name := range in {
		m := measure.Metric{Name: name, Value: 72}
		if place == c.Lands {
			m.Value = n
		}
		r.SUT.Metrics = append(r.SUT.Metrics, m)
	}
	if c.Netmem {
		r.TG.Metrics = []measure.Metric{{Name: nicNetmemBytes, Value: n}}
	}
	return r
}

// A NIC of the lab's own, which tells its counts past its driver, cannot tell device memory.
func TestJudgeProofOfOwnCard(t *testing.T) {
	c := SelectProof([]string{"devmem TX to zcrx"})
	r := proofRecord(c[0])
	r.TG.Metrics = nil
	for i := range r.SUT.Metrics {
		r.SUT.Metrics[i].Source = ownCardSource + "sn0, whole run"
	}
	if rows := JudgeProof(c, []results.Record{r}); !AllAsExpected(rows) || rows[0].Netmem != nil {
		t.Errorf("%+v", rows)
	}
}

// What shows all that it has to is as expected.
func TestJudgeProof(t *testing.T) {
	var recs []results.Record
	for _, c := range proofCases {
		recs = append(recs, proofRecord(c))
	}
	rows := JudgeProof(proofCases, recs)
	for i, r := range rows {
		if !r.AsExpected || r.Name != proofCases[i].Cell.ID || !r.Verified || r.Bytes != ProofBytes {
			t.Errorf("%+v", r)
		}
	}
	if !AllAsExpected(rows) || AllAsExpected(nil) {
		t.Error("all are as expected, and none at all is not")
	}
	rows = JudgeProof(proofCases, recs[:len(recs)-1])
	if last := rows[len(rows)-1]; last.AsExpected || AllAsExpected(rows) || last.Wrong == nil {
		t.Errorf("a run that was not made: %+v", last)
	}
}

// Each way in which a run can miss its proof is found, and is told in words.
func TestJudgeProofFinds(t *testing.T) {
	set := func(h *results.Host, name string, v float64) {
		i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == name })
		h.Metrics[i].Value = v
	}
	less := uint64(ProofBytes - 1)
	one := uint64(1)
	for _, x := range []struct {
		name, in string
		spoil    func(*results.Record)
		want     string
	}{
		{"failed", "zcrx", func(r *results.Record) { r.Verdict, r.Reason = results.Failed, "it broke" },
			"verdict failed, expected ok"},
		{"unsupported", "devmem", func(r *results.Record) { r.Verdict, r.Reason = results.Unsupported, "no udmabuf" },
			"verdict unsupported, expected ok"},
		{"invalid", "tcp-mmap", func(r *results.Record) { r.Verdict, r.Reason = results.Invalid, "copied" },
			"verdict invalid, expected ok"},
		{"the control is valid", "zcrx, wrong queue", func(r *results.Record) { r.Verdict, r.Reason = results.OK, "" },
			"verdict ok, expected invalid"},
		{"the control is invalid for another reason", "zcrx, wrong queue",
			func(r *results.Record) { r.Reason = "payload bytes are wrong" }, "not for the reason"},
		{"the control lost its memory", "zcrx, wrong queue", func(r *results.Record) {
			r.Reason = "the flow landed on queue 3 as it should, but its memory is no longer bound"
		}, "not for the reason"},
		{"the control lost header split", "zcrx, wrong queue", func(r *results.Record) {
			r.Reason = "the flow landed on queue 3 as it should, but headers are no longer split: off"
		}, "not for the reason"},
		{"the control was not steered", "zcrx, wrong queue", func(r *results.Record) {
			r.Reason = "the flow landed on queue 3, where the provider is: packets arrived before it was steered"
		}, "not for the reason"},
		{"the control lands right", "zcrx, wrong queue", func(r *results.Record) {
			set(&r.SUT, nicProviderBytes, ProofBytes)
		}, "into the provider's memory"},
		{"the control is not copied", "zcrx, wrong queue", func(r *results.Record) {
			r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = r.SUT.CopiedBytes, r.SUT.ZeroCopyBytes
		}, "was copied: the deliberate fault had no effect"},
		{"wrong payload", "zcrx", func(r *results.Record) { r.SUT.Mismatches = &one }, "not all verified"},
		{"not verified", "tcp", func(r *results.Record) { r.SUT.Mismatches = nil }, "not all verified"},
		{"verified in part", "devmem", func(r *results.Record) { r.SUT.Bytes = &less }, "not all verified"},
		{"into the kernel", "zcrx, 32K buffers", func(r *results.Record) {
			set(&r.SUT, nicProviderBytes, 0)
			set(&r.SUT, nicKernelBytes, ProofBytes)
		}, "only 0 of 67108864 bytes into the provider's memory"},
		{"more than a hundredth into the kernel", "devmem",
			func(r *results.Record) { set(&r.SUT, nicKernelBytes, 0.02*ProofBytes) }, "into the kernel's memory"},
		{"tcp into a provider", "tcp", func(r *results.Record) { set(&r.SUT, nicProviderBytes, ProofBytes) },
			"into the provider's memory"},
		{"no counters", "zcrx", func(r *results.Record) { r.SUT.Metrics = nil }, "does not count"},
		{"no device memory", "devmem TX to zcrx", func(r *results.Record) { set(&r.TG, nicNetmemBytes, 0) },
			"did not read all payload from device memory"},
		{"no count of device memory", "devmem TX to zcrx", func(r *results.Record) { r.TG.Metrics = nil },
			"did not read all payload from device memory"},
		{"copied", "tcp-mmap", func(r *results.Record) { r.SUT.CopiedBytes = &less }, "% was copied"},
		{"no evidence", "zcrx", func(r *results.Record) { r.SUT.ZeroCopyBytes = nil }, "no evidence"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := SelectProof([]string{x.in})
			r := proofRecord(c[0])
			x.spoil(&r)
			rows := JudgeProof(c, []results.Record{r})
			if len(rows) != 1 || rows[0].AsExpected || AllAsExpected(rows) ||
				!strings.Contains(strings.Join(rows[0].Wrong, "; "), x.want) {
				t.Errorf("want %q: %+v", x.want, rows)
			}
		})
	}
}

func TestGrown(t *testing.T) {
	from := map[string]uint64{"rx0_kernel_bytes": 5, "rx0_provider_bytes": 7, "rx11_provider_bytes": 1,
		"tx0_netmem_bytes": 3}
	to := map[string]uint64{"rx0_kernel_bytes": 5, "rx0_provider_bytes": 10, "rx11_provider_bytes": 101,
		"rx_provider_bytes": 99, "rxq_provider_bytes": 98, "tx0_netmem_bytes": 3}
	if n, ok := grown(from, to, "rx*_provider_bytes"); n != 103 || !ok {
		t.Errorf("provider: %d, %v", n, ok)
	}
	if n, ok := grown(from, to, "tx*_netmem_bytes"); n != 0 || !ok {
		t.Errorf("netmem: %d, %v", n, ok)
	}
	if _, ok := grown(from, to, "rx*_no_such"); ok {
		t.Error("found what is not there")
	}
}

// An agent that says it is well with fewer bytes than were asked for is not believed.
func TestPlausibleBytes(t *testing.T) {
	r := newRig(t)
	sch := wire.Schedule{StopBytes: 1000}
	res := wire.EndResult{Verdict: results.OK, Total: stream.Counters{Bytes: 1000}, ToNs: 5e9}
	if err := plausible(r.sut, sch, &res); err != nil {
		t.Errorf("all bytes, in any time: %v", err)
	}
	res.Total.Bytes = 999
	if err := plausible(r.sut, sch, &res); err == nil || !strings.Contains(err.Error(), "999 bytes") {
		t.Errorf("a byte too few: %v", err)
	}
}

// Answers send people to `zcbench lab demo` for the modes that it has without a copy, and for no
// others.
func TestAnswersKnowTheDemo(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range proofCases {
		shown["rx "+c.Cell.RX], shown["tx "+c.Cell.TX] = true, true
	}
	for _, m := range modes.All {
		name := string(m.Role) + " " + m.Name
		if want := shown[name] && m.Has(stream.ZeroCopy); (answer.ShownBy(m.Role, m.Name) == answer.LabDemo) != want {
			t.Errorf("%s: answers say %q, the demo has it without a copy: %v", name, answer.ShownBy(m.Role, m.Name),
				want)
		}
	}
}

// Cases for any two hosts have each way to receive TCP that an application gets the payload by, and
// a control of each that takes a queue over; they need no NIC that counts where it wrote, and find
// what the others do.
func TestModeProofs(t *testing.T) {
	names := map[string]ProofCase{}
	for _, c := range ModeProofs() {
		names[c.Cell.ID] = c
		r := proofRecord(c)
		r.SUT.Metrics = nil
		if row := JudgeProof([]ProofCase{c}, []results.Record{r})[0]; !row.AsExpected {
			t.Errorf("%s: %q", c.Cell.ID, row.Wrong)
		}
		one, all := uint64(1), uint64(ProofBytes)
		r.SUT.Mismatches = &one
		if row := JudgeProof([]ProofCase{c}, []results.Record{r})[0]; row.AsExpected {
			t.Errorf("%s: wrong payload is as expected", c.Cell.ID)
		}
		zero := uint64(0)
		r = proofRecord(c)
		switch {
		case c.Invalid != "": // it was not copied, or passed
			r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = &all, &zero
			passed := proofRecord(c)
			passed.Verdict = results.OK
			if row := JudgeProof([]ProofCase{c}, []results.Record{passed})[0]; row.AsExpected {
				t.Errorf("%s: a copied run that is ok is as expected", c.Cell.ID)
			}
		case !c.Copies:
			r.SUT.ZeroCopyBytes, r.SUT.CopiedBytes = &zero, &all
		default:
			continue
		}
		if row := JudgeProof([]ProofCase{c}, []results.Record{r})[0]; row.AsExpected {
			t.Errorf("%s: the other end of the payload is as expected", c.Cell.ID)
		}
	}
	for _, m := range modes.All {
		_, has := names[m.Name]
		if want := m.Role == stream.RX && m.Kind == stream.Stream && !m.Has(stream.NoPayload); has != want && (want ||
			m.Role == stream.RX) {
			t.Errorf("%s: a case %v, want %v", m.Name, has, want)
		}
	}
	for _, name := range []string{"zcrx, wrong queue", "devmem, wrong queue"} {
		if c := names[name]; c.Invalid == "" || c.Cell.Control == "" {
			t.Errorf("no control %s", name)
		}
	}
}
