// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// places makes the hashes of [whereOf], which no other process has.
var places = maphash.MakeSeed()

// whereOf hashes the places of runs.
func whereOf(a, b []Run) uint64 {
	var h maphash.Hash
	h.SetSeed(places)
	for side, runs := range [2][]Run{a, b} {
		for i := range runs {
			r := &runs[i]
			for _, place := range [4]string{r.Boot, r.Session, r.By, r.Start} {
				h.WriteString(place)
				h.WriteByte(0)
			}
			h.WriteByte(byte(side))
			h.WriteByte(byte(r.Rep))
			h.WriteByte(byte(r.Rep >> 8))
		}
	}
	return h.Sum64()
}

// unitsOfBoth lists the units of each, and those that both have.
func unitsOfBoth(a, b []Run, unit func(Run) string) (us [2][]string, both []string) {
	us = [2][]string{unitsOf(a, unit), unitsOf(b, unit)}
	return us, slices.DeleteFunc(slices.Clone(us[0]),
		func(s string) bool { _, found := slices.BinarySearch(us[1], s); return !found })
}

// ofUnits makes one run of those of each unit: their middle. Units stand in the order of their
// first runs.
func ofUnits(runs []Run, unit func(Run) string, middle func([]float64) float64) (out []Run) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, place)
	at, values := map[string]int{}, [][]float64(nil)
	for _, r := range runs {
		i, ok := at[unit(r)]
		if !ok {
			i = len(out)
			at[unit(r)] = i
			out, values = append(out, r), append(values, nil)
		}
		values[i] = append(values[i], r.Value)
	}
	for i := range out {
		out[i].Value = middle(values[i])
	}
	return out
}

// byStart sorts runs by their starts, each taken for a boot.
func byStart(runs []Run) []Run {
	out := slices.Clone(runs)
	for i := range out {
		out[i].Boot = out[i].start()
	}
	slices.SortStableFunc(out, func(x, y Run) int { return strings.Compare(x.Boot, y.Boot) })
	return out
}

// byBoot sorts runs by their boots.
func byBoot(runs []Run) []Run {
	out := slices.Clone(runs)
	for i := range out {
		out[i].Boot = out[i].boot()
	}
	slices.SortStableFunc(out, func(x, y Run) int { return strings.Compare(x.Boot, y.Boot) })
	return out
}

// place orders runs by boot, session and repetition.
func place(x, y Run) int {
	if c := strings.Compare(x.Boot, y.Boot); c != 0 {
		return c
	}
	if c := strings.Compare(x.Session, y.Session); c != 0 {
		return c
	}
	return cmp.Compare(x.Rep, y.Rep)
}

// placed sorts runs into that order; ok is false if a place occurs twice.
func placed(runs []Run) (sorted []Run, ok bool) {
	sorted = slices.Clone(runs)
	slices.SortFunc(sorted, place)
	for i := 1; i < len(sorted); i++ {
		if place(sorted[i-1], sorted[i]) == 0 {
			return nil, false
		}
	}
	return sorted, true
}

// medians computes the median of each unit, in the order of the units' names.
func medians(runs []Run, unit func(Run) string) (out []float64) {
	for _, v := range perUnit(runs, unitsOf(runs, unit), unit) {
		out = append(out, Median(v))
	}
	return out
}

// perUnit groups values by unit, for some units: there may be as many units as runs.
func perUnit(runs []Run, units []string, unit func(Run) string) [][]float64 {
	at := make(map[string]int, len(units))
	for i, u := range units {
		at[u] = i
	}
	out := make([][]float64, len(units))
	for _, r := range runs {
		if i, ok := at[unit(r)]; ok {
			out[i] = append(out[i], r.Value)
		}
	}
	return out
}

// unitsOf lists the units of runs in order, each once.
func unitsOf(runs []Run, unit func(Run) string) (out []string) {
	for i, r := range runs {
		if i > 0 && r.Boot == runs[i-1].Boot && r.Session == runs[i-1].Session && r.By == runs[i-1].By &&
			r.Start == runs[i-1].Start {
			continue
		}
		out = append(out, unit(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// only selects the runs of some boots, which are sorted.
func only(runs []Run, boots []string) []Run { return onlyOf(runs, boots, Run.boot) }

// onlyOf selects the runs of some units, which are sorted.
func onlyOf(runs []Run, units []string, unit func(Run) string) []Run {
	if all := unitsOf(runs, unit); slices.Equal(all, units) {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs),
		func(r Run) bool { _, found := slices.BinarySearch(units, unit(r)); return !found })
}

func valuesOf(runs []Run) (out []float64) {
	for _, r := range runs {
		out = append(out, r.Value)
	}
	return out
}

func allPositive(a, b []Run) bool {
	for _, runs := range [][]Run{a, b} {
		if slices.ContainsFunc(runs, func(r Run) bool { return !(r.Value > 0) }) {
			return false
		}
	}
	return true
}
