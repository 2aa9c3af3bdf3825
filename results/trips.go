// SPDX-License-Identifier: MIT

package results

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
)

// Round trips: requests that were answered, the same number at both ends but for those in flight
// at the window's edges, and how long an answer took from when its request was sent, or was due
// by the rate: of the end that asks.

// Steps are how long the steps of requests took that have a connection each (tx crr). A step that
// no request had is nil: connecting, where all requests were in the first packet.
type Steps struct {
	Connect *Times `json:"connect,omitempty"` // from when the connection was to be opened until it was
	Answer  *Times `json:"answer,omitempty"`  // from then to the whole answer
	Close   *Times `json:"close,omitempty"`   // from the answer until the receiver had closed
}

// each calls f for the steps by their names in metrics.csv.
func (s *Steps) each(f func(name, what string, t *Times)) {
	if s == nil {
		return
	}
	f("connect", "connection begun, or due by the rate, to its being open", s.Connect)
	f("answer", "connection open, to its answer", s.Answer)
	f("close", "answer whole, to the end of the connection", s.Close)
}

// Check refuses times that no steps have.
func (s *Steps) Check() (err error) {
	s.each(func(name, _ string, t *Times) {
		if terr := t.Check(); terr != nil {
			err = fmt.Errorf("%s %w", name, terr)
		}
	})
	return err
}

// TransactionsPerS returns how many requests were answered per second; nil: they were not counted.
func (h *Host) TransactionsPerS() *float64 {
	if h.Transactions == nil || h.DurationS == nil {
		return nil
	}
	return finite(float64(*h.Transactions) / *h.DurationS)
}

// CPUUsPerTransaction computes the CPU time this host was busy per transaction, of both ways where
// there are two, microseconds; nil if not measured, or there was none.
func (h *Host) CPUUsPerTransaction() *float64 {
	n := h.bothTransactions()
	if n == nil || h.DurationS == nil || h.CPUBusyCores == nil {
		return nil
	}
	return finite(*h.CPUBusyCores * *h.DurationS * 1e6 / float64(*n))
}

const costOfTrip = "cpu_us_per_transaction"

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
		ms = append(ms, measure.Metric{Name: costOfTrip, Unit: "us", Value: *v,
			Source: "cpu_busy_cores over the transactions"})
	}
	if h.RoundTrip != nil {
		ms = append(ms, h.RoundTrip.metrics("rtt", "request sent, or due by the rate, to its answer")...)
	}
	h.Steps.each(func(name, what string, t *Times) {
		if t != nil {
			ms = append(ms, t.metrics(name, what)...)
		}
	})
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
