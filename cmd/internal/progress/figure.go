// SPDX-License-Identifier: MIT

package progress

import (
	"strconv"

	"github.com/zcbench/zcbench/results"
)

// figure is how fast a run was, in what its flow is measured by: bits of a stream, round trips, or
// datagrams and frames, whose bits are few.
type figure struct {
	v    float64
	unit string
}

// Units of figures.
const (
	gbit  = "Gbit/s"
	trips = "round trips/s"
	kpps  = "kpps"
)

// figureOf picks the figure of a run; ok is false where it was not measured.
func figureOf(r *results.Record) (f figure, ok bool) {
	of := func(v *float64, per float64, unit string) (figure, bool) {
		if v == nil {
			return figure{unit: unit}, false
		}
		return figure{*v / per, unit}, true
	}
	switch {
	case r.LossFreeRate() != nil:
		return of(r.LossFreeRate(), 1e3, kpps)
	case r.Cell.RoundTrips():
		return of(r.TG.TransactionsPerS(), 1, trips)
	case r.Cell.MovesPackets():
		return of(r.SUT.PacketsPerS, 1e3, kpps)
	}
	return of(r.SUT.ThroughputGbps, 1, gbit)
}

// number formats with so many decimals, and more where a figure would come to nothing otherwise.
func (f figure) number(decimals int) string {
	switch {
	case f.unit == trips:
		decimals = 0
	case f.v > 0 && f.v < .01:
		return strconv.FormatFloat(f.v, 'g', 2, 64)
	case f.v < 1:
		decimals = max(decimals, 2)
	}
	return strconv.FormatFloat(f.v, 'f', decimals, 64)
}
