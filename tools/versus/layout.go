// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// Layout is where the receive softirqs of the veth pair run.
type Layout string

const (
	// Apart is veth as it is found: a packet's softirq runs on the CPU that sent it, so that of
	// the payload on the sender's. There the sender is the limit.
	Apart Layout = "apart"
	// Together has each end's softirq on the CPUs of its own thread, by RPS, as two hosts have
	// that give a flow one CPU: the payload's on the receiver's, that of the acknowledgements on
	// the sender's. There the receiver is the limit, and is what is compared.
	Together Layout = "together"
)

var layouts = []Layout{Apart, Together}

// parseLayouts reads names of layouts, each of which may come once.
func parseLayouts(names []string) ([]Layout, error) {
	var out []Layout
	for _, name := range names {
		l := Layout(name)
		if !slices.Contains(layouts, l) {
			return nil, fmt.Errorf("%q is not a layout: choose from %s", name, list(layouts))
		}
		if slices.Contains(out, l) {
			return nil, fmt.Errorf("%s is named twice", l)
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no layout named: choose one or more of %s", list(layouts))
	}
	return out, nil
}

func list[T ~string](all []T) string {
	var words []string
	for _, one := range all {
		words = append(words, string(one))
	}
	return strings.Join(words, ", ")
}

// arrange puts the softirqs of a pair where the layout wants them. The pair's namespaces go
// with their settings, so nothing is to be restored.
func (l Layout) arrange(p *veth.Pair, sender, receiver []int) error {
	if l != Together {
		return nil
	}
	for _, end := range []struct {
		veth.End
		cpus []int
	}{{p.SUT, receiver}, {p.TG, sender}} {
		if err := end.Netns.Do(func() error { return nic.SteerByRPS(end.Dev, end.cpus...) }); err != nil {
			return fmt.Errorf("layout %s: %w", l, err)
		}
	}
	return nil
}
