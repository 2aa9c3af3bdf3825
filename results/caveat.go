// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/power"
)

// Kinds are kinds of a run's figures, as a set.
type Kinds uint

// The kinds of figures that something said of a run can change the meaning of.
const (
	OfSUTCPU   Kinds = 1 << iota // the receiver's CPU time, and what it is divided by
	OfTGCPU                      // the sender's
	OfAllCPU                     // the sum of both
	OfPower                      // one host's power, gross or net
	OfNetPower                   // power beyond idle, of one host or both
	OfPackets                    // numbers of packets, and what one takes
	OfTrips                      // times of round trips
)

// Caveat is something said of a run that changes what some of its figures mean: it belongs beside
// each of them.
type Caveat struct {
	On   Kinds
	Text string
}

// The beginnings and ends of warnings that are caveats. Package bench writes the warnings by means
// of [WarnSoftirqElsewhere] and [WarnSoftirqShared], the agents the others: records of older
// versions have the same words.
const (
	chargedElsewhere = "was not charged for all of its own"
	sharesCPU        = "'s softirq shares CPU "
	busyTooLow       = "busy may be up to "
	busyLeavesOut    = "busy may leave some of it out"
	threadsOfCore    = "are threads of one core and slow each other down"
	pollsAtRest      = "NAPI threads poll at rest too"
	latersCount      = "times count from when each request was due"
)

// WarnSoftirqElsewhere formats the warning that softirq of the SUT ran on CPUs irq, not only on
// those on which the SUT is measured.
func WarnSoftirqElsewhere(irq, measured string) string {
	return fmt.Sprintf("the network softirqs of both ends ran on CPU %s: the SUT, measured on CPU %s, %s", irq,
		measured, chargedElsewhere)
}

// WarnSoftirqShared formats the warning that the softirq of an end shares CPUs with the other end.
func WarnSoftirqShared(end, cpus, other, layout, key string) string {
	return fmt.Sprintf("the %s%s%s with the %s, and is counted in the %s's CPU figures: %s needs its own CPUs; "+
		"name them with %s if this machine has any left",
		end, sharesCPU, cpus, other, other, layout, key)
}

// Caveats lists the caveats of a run's figures, each once.
func (r *Record) Caveats() (out []Caveat) {
	add := func(on Kinds, text string) {
		if c := (Caveat{on, text}); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, w := range r.Warnings {
		of := OfSUTCPU | OfAllCPU
		end := "SUT" // [ends.Role.Label], without a new text for each warning
		if strings.HasPrefix(w, "TG: ") {
			of, end = OfTGCPU|OfAllCPU, "TG"
		}
		switch {
		case strings.Contains(w, chargedElsewhere):
			add(r.elsewhere(), "the SUT was not charged for all of its own softirq")
		case strings.HasPrefix(w, "the SUT"+sharesCPU):
			add(OfSUTCPU|OfTGCPU, "the TG was charged for the SUT's softirq")
		case strings.HasPrefix(w, "the TG"+sharesCPU):
			add(OfSUTCPU|OfTGCPU, "the SUT was charged for the TG's softirq")
		case strings.Contains(w, busyTooLow), strings.Contains(w, busyLeavesOut):
			add(of, end+": busy may lack time of NAPI threads")
		case strings.Contains(w, threadsOfCore):
			if strings.HasPrefix(w, "both ends: ") {
				of, end = OfSUTCPU|OfTGCPU|OfAllCPU, "both ends"
			}
			add(of, end+": CPUs that are threads of one core")
		case strings.Contains(w, pollsAtRest):
			add(OfNetPower, end+": idle power includes NAPI threads that poll")
		case strings.Contains(w, latersCount):
			add(OfTrips, "the rate was not kept, and times include the wait since requests were due")
		}
	}
	for _, f := range []struct {
		flag string
		on   Kinds
		text string
	}{
		{FlagSharedPower, OfPower, "one instrument sees both ends: the power of both together"},
		{power.FlagIdleDrift, OfNetPower, "idle power drifted"},
		{power.FlagSlow, OfPower | OfNetPower, "the power meter is slower than the guard"},
		{power.FlagResponse, OfPower | OfNetPower, "how fast the power meter follows the load is not known"},
		{FlagMixedClasses, OfSUTCPU | OfTGCPU | OfAllCPU, "fast and small CPUs served one run"},
		{FlagBusySibling, OfSUTCPU | OfTGCPU | OfAllCPU, "the other thread of a core was busy"},
		{FlagSuperPackets, OfPackets, "a packet of the link carried several datagrams"},
	} {
		if slices.Contains(r.Flags, f.flag) {
			add(f.on, f.text)
		}
	}
	return out
}

// elsewhere returns which figures are wrong because softirq of the SUT ran on other CPUs: the SUT's
// own, the TG's if it ran on the TG's CPUs, and the sum of both if it ran on CPUs of neither.
func (r *Record) elsewhere() Kinds {
	on := OfSUTCPU
	ran, err := cpulist.ParseRanges(r.SUT.Env.IRQCPU)
	sut, errSUT := cpulist.ParseRanges(r.SUT.Env.CPUsMeasured)
	tg, errTG := cpulist.ParseRanges(r.TG.Env.CPUsMeasured)
	if err != nil || errSUT != nil || errTG != nil || len(ran) == 0 || len(sut) == 0 || len(tg) == 0 {
		return on | OfTGCPU | OfAllCPU // it is not known
	}
	if ran.Meet(tg) {
		on |= OfTGCPU
	}
	if !ran.Within(slices.Concat(sut, tg)) {
		on |= OfAllCPU
	}
	return on
}
