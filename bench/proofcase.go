// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// Place is where payload has to land.
type Place string

// The places, by the NIC's own counters.
const (
	inProvider Place = "provider" // memory that the receive mode has provided
	inKernel   Place = "kernel"   // pages of the kernel
)

// ProofCase is one run of [Prove] and what it has to show.
type ProofCase struct {
	Cell   plan.Cell // its ID is the case's name
	Lands  Place     // all payload but what passes before the flow is steered; "": the NIC does not tell
	Copies bool      // the mode copies all payload, and claims nothing else
	Netmem bool      // the sender's NIC reads it from memory that the kernel cannot read
	// Invalid: the run must be found invalid, for a reason that has these words.
	Invalid string
}

// proofCell builds a run with all payload verified, in messages that a sender can end after a
// bounded number of bytes.
func proofCell(id, rx, tx string) plan.Cell {
	c := plan.Cell{ID: id, RX: rx, TX: tx, MessageBytes: 1 << 20, Touch: "verify"}
	if rx == "zcrx" {
		c.AreaBytes = proofArea
	}
	return c
}

// proofCases are the runs of [Prove], in order: plain TCP to compare with, each way of
// receiving and sending without a copy, and the control, which shows that the proof
// can fail.
var proofCases = func() []ProofCase {
	long := proofCell("zcrx, 32K buffers", "zcrx", "tcp")
	long.RXBufLen = 32 << 10
	wrong := proofCell("zcrx, wrong queue", "zcrx", "tcp")
	wrong.Control = plan.WrongQueue
	return []ProofCase{
		{Cell: proofCell("tcp", "tcp", "tcp"), Lands: inKernel, Copies: true},
		{Cell: proofCell("zcrx", "zcrx", "tcp"), Lands: inProvider},
		{Cell: long, Lands: inProvider},
		{Cell: proofCell("devmem", "devmem", "tcp"), Lands: inProvider},
		{Cell: proofCell("devmem TX to zcrx", "zcrx", "devmem"), Lands: inProvider, Netmem: true},
		{Cell: proofCell("tcp-mmap", "tcp-mmap", "tcp"), Lands: inKernel},
		{Cell: wrong, Lands: inKernel, Invalid: nicqueue.NotOnQueue},
	}
}()

// ModeProofs lists cases for any two hosts: each way to receive TCP whose payload an application
// gets, and of each that takes a queue of the NIC the control, whose flow comes by another one.
func ModeProofs() (out []ProofCase) {
	var controls []ProofCase
	for _, m := range modes.All {
		if m.Role != stream.RX || m.Kind != stream.Stream || m.Has(stream.NoPayload) {
			continue
		}
		c := ProofCase{Cell: plan.Cell{ID: m.Name, RX: m.Name, TX: "tcp", MessageBytes: 1 << 20, Touch: "verify"},
			Copies: !m.Has(stream.ZeroCopy)}
		out = append(out, c)
		if m.TakesQueue() && m.Has(stream.ZeroCopy) {
			c.Cell.ID, c.Cell.Control, c.Invalid = m.Name+", wrong queue", plan.WrongQueue, nicqueue.NotOnQueue
			controls = append(controls, c)
		}
	}
	return append(out, controls...)
}

// ProofNames lists the names of all cases.
func ProofNames() (names []string) {
	for _, c := range proofCases {
		names = append(names, c.Cell.ID)
	}
	return names
}

// SelectProof selects the cases of these names, in the order of [proofCases]; all of them where
// there are no names.
func SelectProof(names []string) (out []ProofCase) {
	for _, c := range proofCases {
		if len(names) == 0 || slices.Contains(names, c.Cell.ID) {
			out = append(out, c)
		}
	}
	return out
}

// ProofWithin lists the names of all cases but those with receive buffers of more than longest
// bytes, which are left out; 0: none are.
func ProofWithin(longest int) (names, left []string) {
	for _, c := range proofCases {
		if longest > 0 && c.Cell.RXBufLen > longest {
			left = append(left, c.Cell.ID)
		} else {
			names = append(names, c.Cell.ID)
		}
	}
	return names, left
}

// ProofRow is what one case has shown.
type ProofRow struct {
	Name     string   `json:"name"`
	RX       string   `json:"rx_mode"`
	TX       string   `json:"tx_mode"`
	Control  string   `json:"control,omitempty"`
	Bytes    uint64   `json:"bytes"`                    // payload that the receiver got
	Provider *uint64  `json:"nic_provider_bytes"`       // by the NIC's own count; nil: not counted
	Kernel   *uint64  `json:"nic_kernel_bytes"`         //
	Netmem   *uint64  `json:"nic_netmem_bytes"`         // of the sender's NIC
	Copied   *float64 `json:"copied_percent,omitempty"` // by the kernel's evidence; nil: the mode has none
	Verified bool     `json:"verified"`                 // every byte was compared with what was sent, and was the same

	Verdict    results.Verdict `json:"verdict"` // of the run
	Reason     string          `json:"reason,omitempty"`
	Fix        string          `json:"fix,omitempty"`
	Expected   results.Verdict `json:"expected"`
	AsExpected bool            `json:"as_expected"`
	Wrong      []string        `json:"wrong,omitempty"` // what is not as expected

	noNetmem bool // the NICs cannot tell memory that the kernel cannot read: see ownCardSource
}

// JudgeProof judges of each case what its record shows, and whether that is what it has to show. A
// case without a record was not run.
func JudgeProof(cases []ProofCase, recs []results.Record) (rows []ProofRow) {
	for _, c := range cases {
		i := slices.IndexFunc(recs, func(r results.Record) bool { return r.Cell.ID == c.Cell.ID })
		if i < 0 {
			rows = append(rows, ProofRow{Name: c.Cell.ID, RX: c.Cell.RX, TX: c.Cell.TX, Control: c.Cell.Control,
				Expected: c.verdict(),
				Verdict:  results.Failed, Reason: "it was not run", Wrong: []string{"it was not run"}})
			continue
		}
		rows = append(rows, c.judge(&recs[i]))
	}
	return rows
}

// AllAsExpected reports whether there are rows and every one is as expected.
func AllAsExpected(rows []ProofRow) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r ProofRow) bool { return !r.AsExpected })
}

func (c ProofCase) verdict() results.Verdict {
	if c.Invalid != "" {
		return results.Invalid
	}
	return results.OK
}

func (c ProofCase) judge(r *results.Record) ProofRow {
	row := ProofRow{Name: c.Cell.ID, RX: c.Cell.RX, TX: c.Cell.TX, Control: c.Cell.Control, Verdict: r.Verdict,
		Reason: r.Reason, Fix: r.Fix, Expected: c.verdict(),
		Provider: figure(&r.SUT, nicProviderBytes), Kernel: figure(&r.SUT, nicKernelBytes),
		Netmem: figure(&r.TG, nicNetmemBytes), Copied: copiedPercent(&r.SUT)}
	if r.SUT.TotalBytes != nil {
		row.Bytes = *r.SUT.TotalBytes
	}
	// All bytes of the flow were in the window, so the mismatches are of all.
	row.Verified = r.SUT.Mismatches != nil && *r.SUT.Mismatches == 0 && r.SUT.Bytes != nil &&
		*r.SUT.Bytes == row.Bytes && row.Bytes > 0
	row.noNetmem = slices.ContainsFunc(r.SUT.Metrics, func(m measure.Metric) bool {
		return m.Name == nicKernelBytes && strings.HasPrefix(m.Source, ownCardSource)
	})
	row.Wrong = c.wrong(&row)
	row.AsExpected = len(row.Wrong) == 0
	return row
}

// wrong lists what is not as the case has to show.
func (c ProofCase) wrong(r *ProofRow) (out []string) {
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Verdict != r.Expected {
		if bad("verdict %s, expected %s", r.Verdict, r.Expected); r.Verdict != results.OK &&
			r.Verdict != results.Invalid {
			return out // it did not run: there is nothing else to look at
		}
	} else if !strings.Contains(r.Reason, c.Invalid) {
		bad("invalid, but not for the reason that the control causes")
	}
	if r.Bytes == 0 {
		bad("no payload arrived")
	}
	if !r.Verified {
		bad("the payload was not all verified")
	}
	into := map[Place]*uint64{inProvider: r.Provider, inKernel: r.Kernel}
	if c.Lands == "" {
		into = nil
	}
	const most = end.DefaultMaxCopied // what comes before the flow is steered
	for place, n := range into {
		switch {
		case n == nil:
			bad("the NIC does not count what it writes into the %s's memory", place)
		case place == c.Lands && float64(*n) < (1-most)*float64(r.Bytes):
			bad("the NIC wrote only %d of %d bytes into the %s's memory", *n, r.Bytes, place)
		case place != c.Lands && float64(*n) > most*float64(r.Bytes):
			bad("the NIC wrote %d bytes into the %s's memory", *n, place)
		}
	}
	if c.Netmem && !r.noNetmem && (r.Netmem == nil || *r.Netmem < r.Bytes) {
		bad("the sender's NIC did not read all payload from device memory")
	}
	slices.Sort(out) // the places come in any order
	return append(out, c.wrongCopies(r)...)
}

func (c ProofCase) wrongCopies(r *ProofRow) (out []string) {
	const most = 100 * end.DefaultMaxCopied
	switch {
	case c.Copies:
	case r.Copied == nil:
		out = append(out, "the kernel gave no evidence of what it copied")
	case c.Invalid != "" && *r.Copied < 100-most:
		out = append(out, fmt.Sprintf("only %.1f %% was copied: the deliberate fault had no effect", *r.Copied))
	case c.Invalid == "" && *r.Copied > most:
		out = append(out, fmt.Sprintf("%.1f %% was copied", *r.Copied))
	}
	return out
}

// figure looks up a metric of a host, as a whole number.
func figure(h *results.Host, name string) *uint64 {
	i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return new(uint64(h.Metrics[i].Value))
}

// copiedPercent computes the share of the payload that the kernel copied; nil where the mode has no
// evidence.
func copiedPercent(h *results.Host) *float64 {
	if h.ZeroCopyBytes == nil || h.CopiedBytes == nil {
		return nil
	}
	copied := float64(*h.CopiedBytes)
	if h.LinearBytes != nil {
		copied += float64(*h.LinearBytes)
	}
	all := copied + float64(*h.ZeroCopyBytes)
	if all == 0 {
		return nil
	}
	return new(100 * copied / all)
}
