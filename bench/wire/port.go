// SPDX-License-Identifier: MIT

package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/plan"
)

// Port is an interface of an end's flows beside the first, with the address that they come to by
// it. Flows are dealt: flow n has the first one's where n modulo their number is 0, else that of
// More before. Where the other end alone has several, the interface here is the same.
type Port struct {
	Dev   string `json:"dev"`
	Upper string `json:"upper,omitempty"` // the one with address and route, where that is another
	Addr  string `json:"addr"`            // as [EndSpec.Addr], of the same port
	Pair  *Pair  `json:"pair,omitempty"`
}

// mostPorts bounds the interfaces of an end.
const mostPorts = 64

// NPorts returns over how many interfaces the end's flows are dealt; 1: all have one.
func (s *EndSpec) NPorts() int { return 1 + len(s.More) }

// PortOf returns the interface of a flow, by its number.
func (s *EndSpec) PortOf(flow int) Port { return s.ports()[flow%s.NPorts()] }

func (s *EndSpec) ports() []Port {
	return append([]Port{{s.Dev, s.Upper, s.Addr, s.Pair}}, s.More...)
}

// Devs lists the end's interfaces, each once, in order; one that is "" is loopback.
func (s *EndSpec) Devs() (devs []string) {
	for _, p := range s.ports() {
		if !slices.Contains(devs, p.Dev) {
			devs = append(devs, p.Dev)
		}
	}
	return devs
}

// On returns the spec with the interface of a port as the only one.
func (s EndSpec) On(p Port) EndSpec {
	s.Dev, s.Upper, s.Addr, s.Pair, s.More = p.Dev, p.Upper, p.Addr, p.Pair, nil
	return s
}

// CheckPorts refuses interfaces that no end can have beside each other.
func (s *EndSpec) CheckPorts() error {
	switch {
	case s.More == nil:
		return nil
	case len(s.More) >= mostPorts:
		return fmt.Errorf("%d interfaces, at most %d", len(s.More)+1, mostPorts)
	case s.Dev == "" || s.Shares || s.Beside != nil || s.Inside != nil:
		return errors.New("several interfaces, beside loopback, turns or a container")
	case len(s.Flows) < s.NPorts():
		return fmt.Errorf("%d interfaces for %d flows", s.NPorts(), len(s.Flows))
	}
	for _, p := range s.More {
		if err := cmp.Or(checkDev(p.Dev), checkUpper(p.Upper)); err != nil {
			return err
		}
	}
	return nil
}

// checkDevs refuses more interfaces than an end's, and what is none; "" is loopback.
func checkDevs(devs []string) error {
	if len(devs) > mostPorts {
		return fmt.Errorf("%d interfaces, at most %d", len(devs), mostPorts)
	}
	for _, dev := range devs {
		if err := checkUpper(dev); err != nil {
			return err
		}
	}
	return nil
}

// CheckLinks refuses those of settings that are more than an end's, or none.
func CheckLinks(links []plan.Link) error {
	if len(links) >= mostPorts {
		return fmt.Errorf("%d interfaces, at most %d", len(links)+1, mostPorts)
	}
	for _, l := range links {
		if err := cmp.Or(checkUpper(l.Dev), checkUpper(l.Upper)); err != nil {
			return err
		}
	}
	return nil
}

func checkUpper(name string) error {
	if name == "" {
		return nil
	}
	return checkDev(name)
}
