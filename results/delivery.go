// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// Times are how long something took in the steady window, microseconds. Nil: not known. A runs.csv
// has some of them, or those that its maker left in it.
type Times struct {
	Count  uint64   `json:"count"` // 0: not known
	MeanUs *float64 `json:"mean_us,omitempty"`
	P50Us  *float64 `json:"p50_us,omitempty"`
	P90Us  *float64 `json:"p90_us,omitempty"`
	P99Us  *float64 `json:"p99_us,omitempty"`
	P999Us *float64 `json:"p999_us,omitempty"`
	MaxUs  *float64 `json:"max_us,omitempty"`
}

// Delivery is how long the payload of a paced flow took in the steady window, from when it
// was due by the pace to when the receiver's path had taken it, and looked at it where it
// does: one end point for all modes. Of steps of the pace, so each time span weighs the same.
type Delivery struct {
	Times
	Early uint64 `json:"early,omitempty"` // of them, those that arrived before they were due, by the clocks
	Late  uint64 `json:"late,omitempty"`  // of objects, those that were not whole when the next was due
	// ClockUs is how far all of these may be off, either way, because the clocks of the two hosts
	// are known to each other no better before and after the run, and part in it; 0: they have
	// one. Nil: not known.
	ClockUs *float64 `json:"clock_us,omitempty"`
}

// figures maps names to the times' fields.
func (t *Times) figures() map[string]**float64 {
	return map[string]**float64{"mean": &t.MeanUs, "p50": &t.P50Us, "p90": &t.P90Us, "p99": &t.P99Us, "p999": &t.P999Us,
		"max": &t.MaxUs}
}

// mostDeliveryUs is longer than any flow.
const mostDeliveryUs = 1e13

// Check refuses times that no flow has; nil has none.
func (t *Times) Check() error {
	if t == nil {
		return nil
	}
	for name, v := range t.figures() {
		if us := *v; us != nil && !(*us >= 0 && *us <= mostDeliveryUs) {
			return fmt.Errorf("%s: %g us", name, *us)
		}
	}
	last := 0.0
	for _, v := range []*float64{t.P50Us, t.P90Us, t.P99Us, t.P999Us, t.MaxUs} {
		if v == nil {
			continue
		}
		if *v < last {
			return fmt.Errorf("a quantile of %g us, and a lower one of %g us", *v, last)
		}
		last = *v
	}
	return nil
}

// metrics turns times of a kind into rows of metrics.csv.
func (t *Times) metrics(kind, src string) (ms []measure.Metric) {
	if t.Count > 0 {
		ms = append(ms, measure.Metric{Name: kind + "_count", Unit: "1", Value: float64(t.Count), Source: src})
	}
	all := t.figures()
	for _, name := range []string{"mean", "p50", "p90", "p99", "p999", "max"} {
		if us := *all[name]; us != nil {
			ms = append(ms, measure.Metric{Name: kind + "_" + name + "_us", Unit: "us", Value: *us, Source: src})
		}
	}
	return ms
}

// timesCol makes a column of one of the times of a kind.
func timesCol(kind, name string, at func(*Host) *Times, to func(*Host) *Times) column {
	return optional(column{kind + "_" + name + "_us",
		func(r *row) string {
			t := at(r.host)
			if t == nil {
				return ""
			}
			return formatFloat(*t.figures()[name])
		},
		func(r *row, s string) error {
			v, err := parseFloat(s)
			*to(r.host).figures()[name] = &v
			return err
		}})
}

// Check refuses times that no flow has.
func (d *Delivery) Check() error {
	if d == nil {
		return nil
	}
	if err := d.Times.Check(); err != nil {
		return fmt.Errorf("delivery %w", err)
	}
	if c := d.ClockUs; c != nil && !(*c >= 0 && *c <= mostDeliveryUs) {
		return fmt.Errorf("delivery: clocks that agree to %g us", *c)
	}
	if d.Early > d.Count {
		return fmt.Errorf("delivery: %d early of %d", d.Early, d.Count)
	}
	if d.Late > d.Count {
		return fmt.Errorf("delivery: %d late of %d", d.Late, d.Count)
	}
	return nil
}

// Metrics turns the delivery times into rows of metrics.csv.
func (d *Delivery) Metrics() []measure.Metric {
	const src = "due by the pace, to the data path"
	ms := d.metrics("delivery", src)
	if d.Count > 0 {
		ms = slices.Insert(ms, 1, measure.Metric{Name: "delivery_early", Unit: "1", Value: float64(d.Early),
			Source: src})
	}
	return ms
}

// timed reports whether any of the delivery times is known.
func (d *Delivery) timed() bool {
	for _, v := range d.figures() {
		if *v != nil {
			return true
		}
	}
	return false
}

// deliveryCol makes a column of one of the delivery times.
func deliveryCol(name string) column {
	return timesCol("delivery", name,
		func(h *Host) *Times {
			if h.Delivery == nil {
				return nil
			}
			return &h.Delivery.Times
		},
		func(h *Host) *Times {
			if h.Delivery == nil {
				h.Delivery = &Delivery{}
			}
			return &h.Delivery.Times
		})
}

// deliveryClockCol makes the column of how well the hosts' clocks agree. That alone is no delivery:
// see [row.dropUntimed].
func deliveryClockCol() column {
	return deliveryFigure("delivery_clock_us", func(d *Delivery) **float64 { return &d.ClockUs })
}

func deliveryFigure(name string, of func(*Delivery) **float64) column {
	return optional(column{name,
		func(r *row) string {
			if r.host.Delivery == nil {
				return ""
			}
			return formatFloat(*of(r.host.Delivery))
		},
		func(r *row, s string) error {
			v, err := parseFloat(s)
			if r.host.Delivery == nil {
				r.host.Delivery = &Delivery{}
			}
			*of(r.host.Delivery) = &v
			return err
		}})
}

// dropUntimed drops a delivery of a row that says how well the clocks agree and no time.
func (r *row) dropUntimed() {
	if d := r.host.Delivery; d != nil && !d.timed() {
		r.host.Delivery = nil
	}
}
