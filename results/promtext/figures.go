// SPDX-License-Identifier: MIT

package promtext

import (
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/results"
)

var (
	sut  = []ends.Role{ends.SUT}
	tg   = []ends.Role{ends.TG}
	both = []ends.Role{ends.SUT, ends.TG}
)

// figures are what is exported of a run, in base units.
var figures = []struct {
	name, unit, help string
	base             float64 // times our unit
	roles            []ends.Role
	value            func(r *results.Record, role ends.Role) *float64
}{
	{"throughput", "bytes_per_second", "Payload received per second of the steady window", 1e9 / 8, sut,
		host(func(h *results.Host) *float64 { return h.ThroughputGbps })},
	{"cpu_busy", "cores", "CPU time of the measured CPUs per second", 1, both,
		host(func(h *results.Host) *float64 { return h.CPUBusyCores })},
	{"cpu_per_payload", "seconds_per_byte", "CPU time of the measured CPUs per byte of payload", 1e-12, both,
		host((*results.Host).NsPerKB)},
	{"cpu_frequency", "hertz", "Clock of the flow's CPUs while not idle", 1e6, both,
		host(func(h *results.Host) *float64 { return h.FlowMHz })},
	{"power", "watts", "Electrical power of the host in the steady window", 1, both,
		host(func(h *results.Host) *float64 { return h.PowerW })},
	{"energy_per_payload", "joules_per_byte", "Energy of the host per byte of payload", 1e-9, both,
		host((*results.Host).JoulePerGB)},
	{"packets", "packets_per_second", "Datagrams or frames per second", 1, both,
		host(func(h *results.Host) *float64 { return h.PacketsPerS })},
	{"transactions", "transactions_per_second", "Requests that were answered per second", 1, tg,
		host((*results.Host).TransactionsPerS)},
	{"round_trip_p50", "seconds", "From a request to its answer, 50 % of them", 1e-6, tg,
		trip(func(t *results.Times) *float64 { return t.P50Us })},
	{"round_trip_p99", "seconds", "From a request to its answer, 99 % of them", 1e-6, tg,
		trip(func(t *results.Times) *float64 { return t.P99Us })},
	{"delivery_p50", "seconds", "From a message's due time to its delivery, 50 % of them", 1e-6, sut,
		delivered(func(d *results.Delivery) *float64 { return d.P50Us })},
	{"delivery_p99", "seconds", "From a message's due time to its delivery, 99 % of them", 1e-6, sut,
		delivered(func(d *results.Delivery) *float64 { return d.P99Us })},
	{"copied", "ratio", "Share of the payload that was copied, by the path's own count", 1, both, host(copied)},
}

func host(of func(*results.Host) *float64) func(*results.Record, ends.Role) *float64 {
	return func(r *results.Record, role ends.Role) *float64 { return of(r.Host(role)) }
}

func trip(of func(*results.Times) *float64) func(*results.Record, ends.Role) *float64 {
	return host(func(h *results.Host) *float64 {
		if h.RoundTrip == nil {
			return nil
		}
		return of(h.RoundTrip)
	})
}

func delivered(of func(*results.Delivery) *float64) func(*results.Record, ends.Role) *float64 {
	return host(func(h *results.Host) *float64 {
		if h.Delivery == nil {
			return nil
		}
		return of(h.Delivery)
	})
}

// copied returns the copied share of the payload; nil if nothing was counted, or nothing moved.
func copied(h *results.Host) *float64 {
	if h.CopiedBytes == nil && h.ZeroCopyBytes == nil {
		return nil
	}
	sum, all := 0.0, 0.0
	for i, n := range []*uint64{h.CopiedBytes, h.LinearBytes, h.ZeroCopyBytes} {
		if n != nil {
			all += float64(*n)
			if i < 2 {
				sum += float64(*n)
			}
		}
	}
	if all == 0 {
		return nil
	}
	return new(sum / all)
}
