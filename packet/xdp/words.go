// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
)

// Action is what becomes of the generator's frames.
type Action uint8

// The actions, in the order of frames.bpf.c.
const (
	Drop       Action = iota
	Pass              // to the stack
	TX                // back, by the queue that they came by
	toCPU             // to another CPU, which drops them
	toDev             // to an interface, see [Options].OutDev
	ToSocket          // to AF_XDP sockets, see [Rung.Socket]
	numActions = iota
)

var actionNames = [numActions]string{"drop", "pass", "tx", "redirect to a CPU", "redirect to an interface",
	"redirect to AF_XDP"}

func (a Action) String() string { return word(actionNames[:], int(a)) }

// Touch is what a program does with a frame's bytes before the action.
type Touch uint8

// What can be touched, in the order of frames.bpf.c.
const (
	TouchNone     Touch = iota // nothing but protocol, addresses and ports, where they are in ours: no type, no options
	TouchRead                  // these, the type of Ethernet and the version of IP, and 4 bytes of the payload are read
	TouchWrite                 // as TouchRead, but the 4 bytes are written
	TouchParse                 // headers are parsed, with VLAN tags, options and the checksum
	TouchSwapMACs              // as TouchRead, but for the payload, and the Ethernet addresses are swapped
)

func (t Touch) String() string { return word(stream.XDPTouches, int(t)) }

// ParseTouch reads one of [stream.XDPTouches].
func ParseTouch(s string) (Touch, error) {
	i, err := find("touch", stream.XDPTouches, s)
	return Touch(i), err
}

// Attach is where an XDP program runs.
type Attach uint8

// The places.
const (
	Native  Attach = iota // in the driver, before there is an skb
	Generic               // where the stack begins, on any interface
)

func (a Attach) String() string { return word(stream.XDPAttaches, int(a)) }

// ParseAttach reads one of [stream.XDPAttaches].
func ParseAttach(s string) (Attach, error) {
	i, err := find("XDP attachment", stream.XDPAttaches, s)
	return Attach(i), err
}

func word(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("number %d", i)
}

func find(what string, names []string, s string) (int, error) {
	if i := slices.Index(names, s); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s %.40q: want %s", what, s, strings.Join(names, ", "))
}
