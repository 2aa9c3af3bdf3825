// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/power"
)

// What is said of a run is a caveat of the figures that it changes the meaning of, and of no
// others.
func TestCaveats(t *testing.T) {
	on := func(irq, sut, tg string) func(*Record) {
		return func(r *Record) {
			r.Warnings = []string{WarnSoftirqElsewhere(irq, sut)}
			r.SUT.Env.IRQCPU, r.SUT.Env.CPUsMeasured, r.TG.Env.CPUsMeasured = irq, sut, tg
		}
	}
	warn := func(w string) func(*Record) { return func(r *Record) { r.Warnings = []string{w} } }
	flag := func(f string) func(*Record) { return func(r *Record) { r.Flags = []string{f} } }
	const elsewhere = "the SUT was not charged for all of its own softirq"
	for name, x := range map[string]struct {
		change func(*Record)
		want   []Caveat
	}{
		"nothing":                     {func(*Record) {}, nil},
		"softirq on both ends' CPUs":  {on("0-1", "1", "0"), []Caveat{{OfSUTCPU | OfTGCPU, elsewhere}}},
		"softirq on a CPU of neither": {on("1-2", "1", "0"), []Caveat{{OfSUTCPU | OfAllCPU, elsewhere}}},
		"softirq, an older record":    {on("0-1", "1", ""), []Caveat{{OfSUTCPU | OfTGCPU | OfAllCPU, elsewhere}}},
		"the SUT's shared": {warn(WarnSoftirqShared("SUT", "0", "TG", "2cpu", "--cpus APP,SOFTIRQ")),
			[]Caveat{{OfSUTCPU | OfTGCPU, "the TG was charged for the SUT's softirq"}}},
		"the TG's shared": {warn(WarnSoftirqShared("TG", "0", "SUT", "2cpu", "--tg-cpus APP,SOFTIRQ")),
			[]Caveat{{OfSUTCPU | OfTGCPU, "the SUT was charged for the TG's softirq"}}},
		"NAPI threads": {warn("TG: busy may be up to 0.300 cores too low: unknown on which CPUs"),
			[]Caveat{{OfTGCPU | OfAllCPU, "TG: busy may lack time of NAPI threads"}}},
		"siblings": {warn("both ends: some of the CPUs 0-1 are threads of one core and slow each other down"),
			[]Caveat{{OfSUTCPU | OfTGCPU | OfAllCPU, "both ends: CPUs that are threads of one core"}}},
		"idle NAPI": {warn("SUT: NAPI threads poll at rest too (1.00 cores): idle power includes that, so " +
			"net power and energy do not"), []Caveat{{OfNetPower, "SUT: idle power includes NAPI threads that poll"}}},
		"late trips": {warn("TG: 5 of 9 transactions per second: the rate was not kept, and times count from " +
			"when each request was due, so they grow"),
			[]Caveat{{OfTrips, "the rate was not kept, and times include the wait since requests were due"}}},
		"one meter": {flag(FlagSharedPower),
			[]Caveat{{OfPower, "one instrument sees both ends: the power of both together"}}},
		"idle drifted": {flag(power.FlagIdleDrift), []Caveat{{OfNetPower, "idle power drifted"}}},
		"slow meter": {flag(power.FlagSlow), []Caveat{{OfPower | OfNetPower,
			"the power meter is slower than the guard"}}},
		"unknown meter": {flag(power.FlagResponse), []Caveat{{OfPower | OfNetPower,
			"how fast the power meter follows the load is not known"}}},
		"mixed classes": {flag(FlagMixedClasses),
			[]Caveat{{OfSUTCPU | OfTGCPU | OfAllCPU, "fast and small CPUs served one run"}}},
		"a busy thread": {flag(FlagBusySibling),
			[]Caveat{{OfSUTCPU | OfTGCPU | OfAllCPU, "the other thread of a core was busy"}}},
		"big packets": {flag(FlagSuperPackets),
			[]Caveat{{OfPackets, "a packet of the link carried several datagrams"}}},
		"the same twice": {func(r *Record) {
			r.Warnings = []string{WarnSoftirqElsewhere("0", "1"), WarnSoftirqElsewhere("0", "1")}
		}, []Caveat{{OfSUTCPU | OfTGCPU | OfAllCPU, elsewhere}}},
		"of nothing": {warn("TG: possible foreign load 0.08 cores on CPU 0"), nil},
	} {
		var r Record
		x.change(&r)
		if got := r.Caveats(); !slices.Equal(got, x.want) {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}
