// SPDX-License-Identifier: MIT

package race

import (
	"errors"
	"fmt"
	"slices"
)

// Factor is what is varied, with its levels.
type Factor struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	// Host: it is set on a host, as a ring is. Settings that differ in it cannot take turns.
	Host bool `json:"host,omitempty"`
}

// Field is what races: settings of one mode. Not every combination of levels need be among them.
type Field struct {
	Mode    string   `json:"mode"`
	Factors []Factor `json:"factors"`
	Arms    [][]int  `json:"arms"`    // settings: the index of a level for each factor
	Default int      `json:"default"` // which of the arms the defaults are
	// First is how many of the arms race from the beginning. The others wait, and come in where
	// what was seen lets expect more of them than of the leader. 0: all race.
	First int `json:"first,omitempty"`
}

func (f *Field) first() int {
	if f.First == 0 {
		return len(f.Arms)
	}
	return f.First
}

// check reports what is wrong with a field.
func (f *Field) check() error {
	if len(f.Arms) == 0 {
		return errors.New("no setting to try")
	}
	if f.Default < 0 || f.Default >= len(f.Arms) {
		return fmt.Errorf("setting %d is to be the default, of %d", f.Default, len(f.Arms))
	}
	if f.First < 0 || f.First > len(f.Arms) {
		return fmt.Errorf("%d settings are to race from the beginning, of %d", f.First, len(f.Arms))
	}
	if f.Default >= f.first() {
		return errors.New("the default is among those that wait")
	}
	seen := map[string]int{}
	for i, arm := range f.Arms {
		if len(arm) != len(f.Factors) {
			return fmt.Errorf("setting %d has %d levels, of %d factors", i, len(arm), len(f.Factors))
		}
		for k, level := range arm {
			if level < 0 || level >= len(f.Factors[k].Levels) {
				return fmt.Errorf("setting %d has level %d of %s, which has %d", i, level, f.Factors[k].Name,
					len(f.Factors[k].Levels))
			}
		}
		if was, ok := seen[fmt.Sprint(arm)]; ok {
			return fmt.Errorf("settings %d and %d are the same", was, i)
		}
		seen[fmt.Sprint(arm)] = i
	}
	return nil
}

// groups tells of each arm which group it is in: those of a group have equal host levels. Groups
// are numbered in the order of their first arms.
func (f *Field) groups() (of []int, n int) {
	var hosts [][]int
	for _, arm := range f.Arms {
		var host []int
		for k, factor := range f.Factors {
			if factor.Host {
				host = append(host, arm[k])
			}
		}
		at := slices.IndexFunc(hosts, func(h []int) bool { return slices.Equal(h, host) })
		if at < 0 {
			at, hosts = len(hosts), append(hosts, host)
		}
		of = append(of, at)
	}
	return of, len(hosts)
}

// Budget is how long a race may take, and how long its parts do, in seconds.
type Budget struct {
	Seconds  float64 `json:"seconds"`            // in all
	Arm      float64 `json:"arm"`                // the turns of one arm in a start
	Start    float64 `json:"start"`              // of a start, whatever is in it
	Change   float64 `json:"change"`             // from one group to another
	Together int     `json:"together,omitempty"` // arms in a start, at most; 0: any number
}

// Start is what runs together: arms of one group take turns.
type Start struct {
	Block int   `json:"block"` // from 0; the starts of a block have every arm that is in the race once
	Group int   `json:"group"`
	Arms  []int `json:"arms"`
}

// Reading is what a start says of one of its arms. Higher is better, and ratios count.
type Reading struct {
	Arm   int     `json:"arm"`
	Value float64 `json:"value,omitempty"`
	// Out is why the arm cannot be in the race: it is not supported here, or its runs are invalid.
	// An arm that only this start says nothing of has no reading, and stays.
	Out string `json:"out,omitempty"`
}

// cost computes how long starts take, one after another; before is the group that the host is set
// for, -1 if none.
func (b *Budget) cost(before int, starts []Start) (seconds float64, last int) {
	for _, s := range starts {
		seconds += b.Start + float64(len(s.Arms))*b.Arm
		if s.Group != before {
			seconds += b.Change
		}
		before = s.Group
	}
	return seconds, before
}

func (b *Budget) check() error {
	switch {
	case !(b.Arm > 0):
		return errors.New("a race needs the time of an arm in a start")
	case b.Start < 0 || b.Change < 0 || b.Together < 0:
		return errors.New("a part of a race's time is below 0")
	}
	return nil
}

// Factorial computes how long it takes to run every arm of the field in so many starts: what a race
// is compared with, and, with one, the least that it needs.
func (b *Budget) Factorial(f *Field, starts int) (seconds float64) {
	of, n := f.groups()
	arms := make([]int, f.first())
	for i := range arms {
		arms[i] = i
	}
	last := -1
	for block := range starts {
		s, l := b.cost(last, layOut(block, arms, of, n, b.Together, 0))
		seconds, last = seconds+s, l
	}
	return seconds
}
