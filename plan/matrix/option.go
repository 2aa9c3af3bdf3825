// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan"
	_ "github.com/zcbench/zcbench/plan/modes" // registers them
)

// choose reads an option's value into a cell; of one that flags may give several times, also a
// list. It returns the value as it is written.
func choose(c *plan.Cell, o *plan.Option, n ast.Node) (string, error) {
	var words []string
	for _, item := range list(n) {
		s, err := scalar(item)
		if err != nil {
			return "", err
		}
		words = append(words, s)
	}
	if len(words) != 1 && o.Many == "" {
		return "", at(n, "%s: want %s", o.Name, o.Takes)
	}
	s := strings.Join(words, o.Many)
	err := o.Set(c, s)
	if err == nil {
		err = Settable(o, s)
	}
	if err == nil && slices.ContainsFunc(c.Others(), isInterrupt) {
		err = errors.New("a file may move interrupts only by cpu_layout: their numbers hold for one boot of one host")
	}
	if err != nil {
		return s, at(n, "%s: %s", o.Name, refusal(err))
	}
	return s, nil
}

// leastMTU is IPV6_MIN_MTU of the kernel's include/uapi/linux/ipv6.h.
const leastMTU = 1280

// Settable refuses a setting that no host is given: whoever runs a file is often not who wrote
// it, and runs it as root.
func Settable(o *plan.Option, s string) error {
	var c plan.Cell
	if err := o.Set(&c, s); err != nil {
		return err
	}
	for _, x := range c.Others() { // an interface's, whatever else has the name
		if err := nic.CheckSetting(x.Name, x.Value); err != nil {
			return err
		}
		if n, err := strconv.Atoi(x.Value); x.Name == "mtu" && err == nil && n < leastMTU {
			return fmt.Errorf(
				"mtu=%d: below %d the kernel removes the interface's IPv6 addresses, which nothing would restore", n,
				leastMTU)
		}
	}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		w := plan.SettingsOf(role, c, nil)
		w.Dev = "any"
		if err := w.Check(); err != nil {
			return err
		}
	}
	return nil
}

// forAll makes the fields of the options that hold for all cells.
func (s *Spec) forAll(x *expansion) (out []field) {
	x.all = map[string]ast.Node{}
	for i := range plan.Factors {
		if o := &plan.Factors[i]; !o.OfPlan {
			out = append(out, x.option(o, false))
		}
	}
	return out
}

func (x *expansion) option(o *plan.Option, ofHost bool) field {
	return field{o.Name, func(n ast.Node) error {
		if x.all[o.Name] != nil {
			return at(n, "%s is given twice", o.Name)
		}
		x.all[o.Name] = n
		if ofHost { // says what the host has, whoever uses it
			x.ofHost = append(x.ofHost, o.Name)
		}
		_, err := choose(&x.spec.All, o, n)
		return err
	}}
}

// ofOneHost reports whether an option is one of a single host: the others are of the flow, or of
// both its ends.
func ofOneHost(o *plan.Option) bool {
	return o.Kind == plan.OfHost && o.Role == "" && o.Name != "mtu"
}

// fields makes the fields of one host's settings.
func (s *Settings) fields() []field {
	out := []field{{"sysctl", s.sysctls}}
	for i := range plan.Factors {
		o := &plan.Factors[i]
		if !ofOneHost(o) {
			continue
		}
		out = append(out, field{o.Name, func(n ast.Node) error {
			_, err := choose(&s.Host, o, n)
			if err == nil && slices.ContainsFunc(s.Host.Others(), func(x plan.Other) bool { return x.End != "" }) {
				err = at(n, "%s: the host is already given: leave out sut: and tg:", o.Name)
			}
			return err
		}})
	}
	return out
}

// Of returns the settings of a host for a cell: the cell's, and what these say beside.
func (s Settings) Of(role stream.Role, c plan.Cell) plan.Settings {
	return plan.SettingsOf(role, c.Over(s.Host), s.Sysctl)
}

func (x *expansion) concerned(o *plan.Option) bool {
	for i := range x.spec.Cells {
		if o.Concerns(&x.spec.Cells[i]) {
			return true
		}
	}
	return false
}

// unused names an option that concerns none of the cells: one for all of them, or a factor, which
// would be compared and is not there.
func (x *expansion) unused() error {
	for _, p := range x.products {
		for _, a := range p.axes {
			if !x.concerned(a.option) {
				return at(a.node, "%s applies to %s, which no cell has: leave it out", a.option.Name, a.option.Whom())
			}
		}
	}
	for i := range plan.Factors {
		o := &plan.Factors[i]
		n := x.all[o.Name]
		if n != nil && !slices.Contains(x.ofHost, o.Name) && !x.concerned(o) {
			return at(n, "%s applies to %s, which no cell has: leave it out", o.Name, o.Whom())
		}
	}
	return nil
}
