// SPDX-License-Identifier: MIT

package results

import (
	"github.com/zcbench/zcbench/machine/measure"
)

// Round trips: requests that were answered, the same number at both ends but for those in flight
// at the window's edges, and how long an answer took from when its request was sent, or was due
// by the rate: of the end that asks.

// TransactionsPerS returns how many requests were answered per second; nil: they were not counted.
func (h *Host) TransactionsPerS() *float64 {
	if h.Transactions == nil || h.DurationS == nil {
		return nil
	}
	return finite(float64(*h.Transactions) / *h.DurationS)
}

// CPUUsPerTransaction computes the CPU time this host was busy per transaction, microseconds; nil
// if not measured, or there was none.
func (h *Host) CPUUsPerTransaction() *float64 {
	if h.Transactions == nil || h.DurationS == nil || h.CPUBusyCores == nil {
		return nil
	}
	return finite(*h.CPUBusyCores * *h.DurationS * 1e6 / float64(*h.Transactions))
}

// TripMetrics turns round trips into rows of metrics.csv; none if there were no trips.
func (h *Host) TripMetrics() (ms []measure.Metric) {
	const src = measure.DataPath
	if n := h.Transactions; n != nil {
		ms = append(ms, measure.Metric{Name: "transactions", Unit: "1", Value: float64(*n), Source: src})
	}
	for _, x := range []struct {
		name string
		v    *uint64
	}{{"transactions_lost", h.TransactionsLost}, {"answers_late", h.AnswersLate}} {
		if x.v != nil {
			ms = append(ms, measure.Metric{Name: x.name, Unit: "1", Value: float64(*x.v), Source: src})
		}
	}
	if v := h.TransactionsPerS(); v != nil {
		ms = append(ms, measure.Metric{Name: "transactions_per_s", Unit: "1/s", Value: *v, Source: src})
	}
	if v := h.CPUUsPerTransaction(); v != nil {
		ms = append(ms, measure.Metric{Name: "cpu_us_per_transaction", Unit: "us", Value: *v,
			Source: "cpu_busy_cores over the transactions"})
	}
	if h.RoundTrip != nil {
		ms = append(ms, h.RoundTrip.metrics("rtt", "request sent, or due by the rate, to its answer")...)
	}
	return ms
}

// rttCol makes a column of one of the round-trip times.
func rttCol(name string) column {
	return timesCol("rtt", name, func(h *Host) *Times { return h.RoundTrip }, func(h *Host) *Times {
		if h.RoundTrip == nil {
			h.RoundTrip = &Times{}
		}
		return h.RoundTrip
	})
}

// tripColumns lists the columns of round trips.
func tripColumns() []column {
	return []column{chosen("busy_poll_us"), chosen("request_bytes"), chosen("response_bytes"), chosen("in_flight"),
		chosen("rr_rate"),
		countCol("transactions", func(r *row) **uint64 { return &r.host.Transactions }),
		computedCol("transactions_per_s", (*Host).TransactionsPerS), computedCol("cpu_us_per_transaction",
			(*Host).CPUUsPerTransaction),
		rttCol("p50"), rttCol("p90"), rttCol("p99"), rttCol("p999"), rttCol("max")}
}
