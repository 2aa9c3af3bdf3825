// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/results"
)

// Metric is a figure that can be compared.
type Metric struct {
	Name, Unit string
	HigherWins bool
	capacity   bool // it says what an end can do only where that end limited the run
	value      func(*results.Record) *float64
	measured   func(*results.Record) []*results.Host // whose instruments count; nil: no figure of power
	kinds      results.Kinds                         // what caveats it may have
}

// Of returns the figure of a run; nil: it was not measured.
func (m Metric) Of(r *results.Record) *float64 { return m.value(r) }

// Metrics are all of them, by their names in runs.csv, where they are there; a tg_ in front is
// the sender's, a _total behind both ends'.
var Metrics = []Metric{
	{"throughput_gbps", "Gbit/s", true, true, func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }, nil, 0},
	{"ns_per_kb", "ns/kB", false, false, func(r *results.Record) *float64 { return r.SUT.NsPerKB() }, nil,
		results.OfSUTCPU},
	{"tg_ns_per_kb", "ns/kB", false, false, func(r *results.Record) *float64 { return r.TG.NsPerKB() }, nil,
		results.OfTGCPU},
	{"cpu_busy_cores", "cores", false, false, func(r *results.Record) *float64 { return r.SUT.CPUBusyCores }, nil,
		results.OfSUTCPU},
	{"tg_cpu_busy_cores", "cores", false, false, func(r *results.Record) *float64 { return r.TG.CPUBusyCores }, nil,
		results.OfTGCPU},
	{"cycles_per_byte", "1/byte", false, false, func(r *results.Record) *float64 { return r.SUT.CyclesPerByte }, nil,
		results.OfSUTCPU},
	{"tg_cycles_per_byte", "1/byte", false, false, func(r *results.Record) *float64 { return r.TG.CyclesPerByte }, nil,
		results.OfTGCPU},
	{"instructions_per_kb", "1/kB", false, false, func(r *results.Record) *float64 { return r.SUT.InstructionsPerKB },
		nil, results.OfSUTCPU},
	{"ipc", "1", true, false, func(r *results.Record) *float64 { return r.SUT.IPC }, nil, results.OfSUTCPU},
	{"llc_misses_per_kb", "1/kB", false, false, func(r *results.Record) *float64 { return r.SUT.LLCMissesPerKB }, nil,
		results.OfSUTCPU},
	{"dram_bytes_per_byte", "bytes/byte", false, false, func(r *results.Record) *float64 { return r.SUT.DRAMPerByte },
		nil, 0},
	{"mbm_bytes_per_byte", "bytes/byte", false, false, func(r *results.Record) *float64 { return r.SUT.MBMPerByte },
		nil,
		0},
	{"roi_cpu", "(Gbit/s)²/core", true, true, func(r *results.Record) *float64 { return r.SUT.ROICPU() }, nil,
		results.OfSUTCPU},
	{"roi_cpu_total", "(Gbit/s)²/core", true, true, totalROI(results.CostCPU), nil, results.OfAllCPU},
	{"roi_power", "(Gbit/s)²/W", true, true, func(r *results.Record) *float64 { return r.SUT.ROIPower() }, sutHost,
		results.OfPower},
	{"roi_power_total", "(Gbit/s)²/W", true, true, totalROI(results.CostPower), bothHosts, 0},
	{"roi_power_net_total", "(Gbit/s)²/W", true, true, totalROI(results.CostNetPower), bothHosts, results.OfNetPower},
	{"power_w", "W", false, false, func(r *results.Record) *float64 { return r.SUT.PowerW }, sutHost, results.OfPower},
	{"tg_power_w", "W", false, false, func(r *results.Record) *float64 { return r.TG.PowerW }, tgHost, results.OfPower},
	{"packets_per_s", "1/s", true, true, func(r *results.Record) *float64 { return r.SUT.PacketsPerS }, nil,
		results.OfPackets},
	{"loss_free_packets_per_s", "1/s", true, true, func(r *results.Record) *float64 { return r.LossFreeRate() }, nil,
		results.OfPackets},
	{"ns_per_packet", "ns", false, false, func(r *results.Record) *float64 { return r.SUT.NsPerPacket() }, nil,
		results.OfSUTCPU | results.OfPackets},
	{"tg_ns_per_packet", "ns", false, false, func(r *results.Record) *float64 { return r.TG.NsPerPacket() }, nil,
		results.OfTGCPU | results.OfPackets},
	{"delivery_p50_us", "us", false, false, deliveryTime(func(d *results.Delivery) *float64 { return d.P50Us }), nil,
		0},
	{"delivery_p99_us", "us", false, false, deliveryTime(func(d *results.Delivery) *float64 { return d.P99Us }), nil,
		0},
	{"transactions_per_s", "1/s", true, false, func(r *results.Record) *float64 { return r.TG.TransactionsPerS() }, nil,
		0},
	{"cpu_us_per_transaction", "us", false, false,
		func(r *results.Record) *float64 { return r.SUT.CPUUsPerTransaction() }, nil, results.OfSUTCPU},
	{"tg_cpu_us_per_transaction", "us", false, false,
		func(r *results.Record) *float64 { return r.TG.CPUUsPerTransaction() }, nil, results.OfTGCPU},
	{"rtt_p50_us", "us", false, false, roundTrip(func(t *results.Times) *float64 { return t.P50Us }), nil,
		results.OfTrips},
	{"rtt_p99_us", "us", false, false, roundTrip(func(t *results.Times) *float64 { return t.P99Us }), nil,
		results.OfTrips},
	{"rtt_p999_us", "us", false, false, roundTrip(func(t *results.Times) *float64 { return t.P999Us }), nil,
		results.OfTrips},
	{"joule_per_gb", "J/GB", false, false, func(r *results.Record) *float64 { return r.SUT.JoulePerGB() }, sutHost,
		results.OfPower},
	{"net_joule_per_gb", "J/GB", false, false, func(r *results.Record) *float64 { return r.SUT.NetJoulePerGB() },
		sutHost, results.OfPower | results.OfNetPower},
	{"joule_per_gb_total", "J/GB", false, false, func(r *results.Record) *float64 { return r.TotalJoulePerGB(false) },
		bothHosts, 0},
	{"joule_per_gb_net_total", "J/GB", false, false,
		func(r *results.Record) *float64 { return r.TotalJoulePerGB(true) }, bothHosts, results.OfNetPower},
}

func totalROI(cost results.Cost) func(*results.Record) *float64 {
	return func(r *results.Record) *float64 { return r.ROI(results.Total, cost, 2, 1) }
}

func sutHost(r *results.Record) []*results.Host   { return []*results.Host{&r.SUT} }
func tgHost(r *results.Record) []*results.Host    { return []*results.Host{&r.TG} }
func bothHosts(r *results.Record) []*results.Host { return []*results.Host{&r.SUT, &r.TG} }

// ReportMetrics are compared in reports, as far as they were measured.
var ReportMetrics = []string{"throughput_gbps", "packets_per_s", "loss_free_packets_per_s", "ns_per_kb",
	"ns_per_packet", "cycles_per_byte", "roi_cpu_total", "roi_power_total", "roi_power_net_total", "joule_per_gb_total",
	"joule_per_gb_net_total",
	"transactions_per_s", "cpu_us_per_transaction", "rtt_p50_us", "rtt_p99_us"}

// WithTraffic adds to figures how many bytes memory moved, where that was measured: by its
// controllers or, where these do not tell, by resctrl. They say the same of a mode, and one
// question is enough.
func WithTraffic(names []string, s *Set) []string {
	for _, name := range []string{"dram_bytes_per_byte", "mbm_bytes_per_byte"} {
		m := Metrics[slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })]
		for i := range s.Cells {
			if slices.ContainsFunc(s.Cells[i].Runs, func(r *results.Record) bool { return m.Of(r) != nil }) {
				return append(slices.Clone(names), name)
			}
		}
	}
	return names
}

// DefaultMetrics are compared when none are asked for.
var DefaultMetrics = []string{"throughput_gbps", "ns_per_kb"}

// Priced adds to figures what sending took, where senders are compared: in a set that has several,
// or in two of which each has another.
func Priced(names []string, sets ...*Set) []string {
	var of [][]string
	for _, s := range sets {
		var tx []string
		for i := range s.Cells {
			if c := &s.Cells[i]; len(c.Runs) > 0 && !slices.Contains(tx, c.Cell.TX) {
				tx = append(tx, c.Cell.TX)
			}
		}
		slices.Sort(tx)
		of = append(of, tx)
	}
	differ := len(of) == 1 && len(of[0]) > 1
	for _, tx := range of {
		differ = differ || !slices.Equal(tx, of[0])
	}
	if differ && slices.Contains(names, "ns_per_kb") && !slices.Contains(names, "tg_ns_per_kb") {
		names = append(slices.Clone(names), "tg_ns_per_kb")
	}
	return names
}

// Lookup finds metrics by name.
func Lookup(names []string) ([]Metric, error) {
	var out []Metric
	for _, n := range names {
		i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == n })
		if i < 0 {
			var known []string
			for _, m := range Metrics {
				known = append(known, m.Name)
			}
			return nil, fmt.Errorf("unknown metric %q%s", n, near.Instead(n, "metrics", known))
		}
		out = append(out, Metrics[i])
	}
	return out, nil
}

// ofReturn reports whether the metric is a return on cost.
func (m Metric) ofReturn() bool { return strings.HasPrefix(m.Name, "roi_") }
