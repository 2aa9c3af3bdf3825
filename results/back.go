// SPDX-License-Identifier: MIT

package results

import "fmt"

// Way is what a host sent, or received, the other way: from the SUT to the TG.
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

// Check refuses what no host sends; nil sends nothing.
func (w *Way) Check() error {
	if w != nil && !(w.ThroughputGbps >= 0 && w.ThroughputGbps <= mostFlowGbps) {
		return fmt.Errorf("the other way: %g Gbit/s", w.ThroughputGbps)
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

// way returns the other way, which it makes where there is none.
func (r *row) way() *Way {
	if r.host.Back == nil {
		r.host.Back = &Way{}
	}
	return r.host.Back
}

// backColumns lists the columns of the other way.
func backColumns() []column {
	count := func(name string, at func(*Way) **uint64) column {
		return optional(column{name,
			func(r *row) string {
				if r.host.Back == nil {
					return ""
				}
				return formatCount(*at(r.host.Back))
			},
			func(r *row, s string) error { return parseCount(s, at(r.way())) }})
	}
	return []column{chosen("both"),
		optional(column{"back_throughput_gbps",
			func(r *row) string {
				if r.host.Back == nil {
					return ""
				}
				return formatFloat(&r.host.Back.ThroughputGbps)
			},
			func(r *row, s string) (err error) {
				r.way().ThroughputGbps, err = parseFloat(s)
				return err
			}}),
		optional(column{"back_bytes",
			func(r *row) string {
				if r.host.Back == nil {
					return ""
				}
				return formatCount(&r.host.Back.Bytes)
			},
			func(r *row, s string) error {
				var n *uint64
				err := parseCount(s, &n)
				if n != nil {
					r.way().Bytes = *n
				}
				return err
			}}),
		count("back_zero_copy_bytes", func(w *Way) **uint64 { return &w.ZeroCopyBytes }),
		count("back_copied_bytes", func(w *Way) **uint64 { return &w.CopiedBytes }),
		count("back_mismatches", func(w *Way) **uint64 { return &w.Mismatches }),
		count("back_transactions", func(w *Way) **uint64 { return &w.Transactions })}
}
