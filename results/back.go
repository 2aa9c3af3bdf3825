// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
)

// Way is what a host sent, or received, from the SUT to the TG: the other way, or what the SUT
// passed on.
type Way struct {
	Bytes          uint64  `json:"bytes"` // in the steady window
	ThroughputGbps float64 `json:"throughput_gbps"`
	ZeroCopyBytes  *uint64 `json:"zero_copy_bytes,omitempty"`
	CopiedBytes    *uint64 `json:"copied_bytes,omitempty"`
	Mismatches     *uint64 `json:"mismatches,omitempty"`
	Transactions   *uint64 `json:"transactions,omitempty"` // requests that were answered
}

// AddBack adds the other way to a host's figures, and how long its round trips took, if there were
// any: of the end that asks there. The CPU time was for those of both ways.
func (h *Host) AddBack(w Way, trips *Times) {
	h.Back = &w
	for i := range h.Metrics {
		if v := h.CPUUsPerTransaction(); h.Metrics[i].Name == costOfTrip && v != nil {
			h.Metrics[i].Value = *v
		}
	}
	if trips != nil {
		h.Metrics = append(h.Metrics, trips.metrics("back_rtt", "the other way: request sent, or due by the rate, "+
			"to its answer")...)
	}
}

// mostTold is how many bytes that were sent before the window the kernel may tell of in it.
const mostTold = 1 << 32

// CheckWays refuses of the way from the SUT to the TG what no host sends.
func (h *Host) CheckWays() error {
	return errors.Join(h.Back.check(h.DurationS), h.Then.check(h.DurationS))
}

// check refuses what no host sends in so many seconds; nil sends nothing. It has a window of its
// own, whose edges a busy host reads much later, so its rate is not held to its bytes.
func (w *Way) check(seconds *float64) error {
	const op = "from the SUT to the TG"
	if w == nil {
		return nil
	}
	if !(w.ThroughputGbps >= 0 && w.ThroughputGbps <= mostFlowGbps) {
		return fmt.Errorf("%s: %g Gbit/s", op, w.ThroughputGbps)
	}
	if seconds != nil {
		if float64(w.Bytes)*8/1e9 > mostFlowGbps*mostShare*max(*seconds, 1) {
			return fmt.Errorf("%s: %d bytes in %g s", op, w.Bytes, *seconds)
		}
	}
	for _, x := range []struct {
		what string
		n    *uint64
	}{{"bytes without a copy", w.ZeroCopyBytes}, {"copied bytes", w.CopiedBytes}, {"round trips", w.Transactions}} {
		if x.n != nil && *x.n > w.Bytes && *x.n-w.Bytes > mostTold {
			return fmt.Errorf("%s: %d %s of %d", op, *x.n, x.what, w.Bytes)
		}
	}
	return nil
}

// bothGbps returns the throughput of both ways: what a host's CPU time and power are spent on.
func (h *Host) bothGbps() *float64 {
	if h.ThroughputGbps == nil || h.Back == nil {
		return h.ThroughputGbps
	}
	return new(*h.ThroughputGbps + h.Back.ThroughputGbps)
}

// checks reports whether the host, a sender, receives what was passed on, and compares every byte:
// its CPU time and power are then of zcbench's own check as well, and no cost of sending.
func (h *Host) checks() bool { return h.Then != nil && h.Then.Mismatches != nil }

// bothBytes returns the bytes of both ways.
func (h *Host) bothBytes() *uint64 {
	if h.Bytes == nil || h.Back == nil {
		return h.Bytes
	}
	return new(*h.Bytes + h.Back.Bytes)
}

// bothTransactions returns the round trips of both ways.
func (h *Host) bothTransactions() *uint64 {
	if h.Transactions == nil || h.Back == nil || h.Back.Transactions == nil {
		return h.Transactions
	}
	return new(*h.Transactions + *h.Back.Transactions)
}

// wayColumns lists the columns of what is in at, after that of the option.
func wayColumns(option, prefix string, at func(*Host) **Way) []column {
	get := func(r *row, show func(*Way) string) string {
		if w := *at(r.host); w != nil {
			return show(w)
		}
		return ""
	}
	way := func(r *row) *Way {
		w := at(r.host)
		if *w == nil {
			*w = &Way{}
		}
		return *w
	}
	count := func(name string, of func(*Way) **uint64) column {
		return optional(column{prefix + name,
			func(r *row) string { return get(r, func(w *Way) string { return formatCount(*of(w)) }) },
			func(r *row, s string) error { return parseCount(s, of(way(r))) }})
	}
	return []column{chosen(option),
		optional(column{prefix + "throughput_gbps",
			func(r *row) string { return get(r, func(w *Way) string { return formatFloat(&w.ThroughputGbps) }) },
			func(r *row, s string) (err error) {
				way(r).ThroughputGbps, err = parseFloat(s)
				return err
			}}),
		optional(column{prefix + "bytes",
			func(r *row) string { return get(r, func(w *Way) string { return formatCount(&w.Bytes) }) },
			func(r *row, s string) error {
				var n *uint64
				err := parseCount(s, &n)
				if n != nil {
					way(r).Bytes = *n
				}
				return err
			}}),
		count("zero_copy_bytes", func(w *Way) **uint64 { return &w.ZeroCopyBytes }),
		count("copied_bytes", func(w *Way) **uint64 { return &w.CopiedBytes }),
		count("mismatches", func(w *Way) **uint64 { return &w.Mismatches })}
}

// backTransactions is the column of the round trips of the other way.
func backTransactions() column {
	return optional(column{"back_transactions",
		func(r *row) string {
			if r.host.Back == nil {
				return ""
			}
			return formatCount(r.host.Back.Transactions)
		},
		func(r *row, s string) error {
			var n *uint64
			if err := parseCount(s, &n); err != nil || n == nil {
				return err
			}
			if r.host.Back == nil {
				r.host.Back = &Way{}
			}
			r.host.Back.Transactions = n
			return nil
		}})
}
