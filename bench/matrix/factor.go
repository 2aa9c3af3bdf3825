// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/results"
)

// Factor is one thing that cells can differ in: one field of a cell.
type Factor struct {
	Name string // in files and, but for the modes, in [results.Factors]
	Doc  string // its values, for error messages
	set  func(*results.Cell, string) error
	// concerns tells whether the factor means anything to the cell's modes; nil:
	// always. Where it does not, the cell is left as found.
	concerns func(*results.Cell) bool
	clear    func(*results.Cell)
}

// value is what a cell has of the factor, as text.
func (f *Factor) value(c *results.Cell) string {
	switch f.Name {
	case "rx":
		return c.RX
	case "tx":
		return c.TX
	}
	i := slices.IndexFunc(results.Factors, func(r results.Factor) bool { return r.Name == f.Name })
	return results.Factors[i].Value(c)
}

// bigTCPOff is the largest packet without BIG TCP: GSO_LEGACY_MAX_SIZE of the
// kernel's include/linux/netdevice.h.
const bigTCPOff = 65536

// bigTCPMax is GSO_MAX_SIZE and GRO_MAX_SIZE of the same file, 8 x 65535 rounded
// down to whole bytes of a header.
const bigTCPMax = 524280

// Factors are all factors.
var Factors = []Factor{
	{Name: "rx", Doc: "a receive mode", set: mode(stream.RX, func(c *results.Cell) *string { return &c.RX })},
	{Name: "tx", Doc: "a send mode", set: mode(stream.TX, func(c *results.Cell) *string { return &c.TX })},
	{Name: "gro", Doc: "true or false", set: onOff(func(c *results.Cell) **bool { return &c.GRO })},
	{Name: "hw_gro", Doc: "true or false", set: onOff(func(c *results.Cell) **bool { return &c.HWGRO })},
	{Name: "big_tcp", Doc: "off, or bytes of the SUT's largest packet", set: bigTCP(func(c *results.Cell) *int { return &c.BigTCPBytes })},
	{Name: "tg_big_tcp", Doc: "off, or bytes of the TG's largest packet", set: bigTCP(func(c *results.Cell) *int { return &c.TGBigTCPBytes })},
	{Name: "cpu_layout", Doc: "1cpu or 2cpu", set: oneOf(func(c *results.Cell) *string { return &c.CPULayout }, "1cpu", "2cpu")},
	{Name: "mtu", Doc: "bytes in 1280..65535", set: number(func(c *results.Cell) *int { return &c.MTU }, 1280, 65535)},
	{Name: "message", Doc: "bytes that the sender hands over in one call", set: size(func(c *results.Cell) *int { return &c.MessageBytes }, 1, stream.MaxMessageBytes)},
	{Name: "read", Doc: "bytes that the receiver asks for in one call", set: size(func(c *results.Cell) *int { return &c.ReadBytes }, 1, stream.MaxMessageBytes)},
	{Name: "token_batch", Doc: "fragments in 1..1024", set: number(func(c *results.Cell) *int { return &c.TokenBatch }, 1, 1024),
		concerns: func(c *results.Cell) bool { return c.RX == "devmem" }, clear: func(c *results.Cell) { c.TokenBatch = 0 }},
	{Name: "rx_buf_len", Doc: "bytes of a receive buffer, a power of two", set: size(func(c *results.Cell) *int { return &c.RXBufLen }, 4096, stream.MaxBufLen),
		concerns: takesBuffers, clear: func(c *results.Cell) { c.RXBufLen = 0 }},
	{Name: "congestion", Doc: "a congestion control such as cubic", set: word(func(c *results.Cell) *string { return &c.Congestion })},
	{Name: "touch", Doc: "none, read or verify", set: oneOf(func(c *results.Cell) *string { return &c.Touch }, "none", "read", "verify")},
	{Name: "control", Doc: "none, or " + results.WrongQueue + ": steer the flow to another queue than the mode's", set: control,
		concerns: takesQueue, clear: func(c *results.Cell) { c.Control = "" }},
	{Name: "probe", Doc: "none, or eBPF probes joined by +: " + strings.Join(results.ProbeNames, ", "),
		set: func(c *results.Cell, s string) (err error) { c.Probe, err = results.ParseProbe(s); return err }},
}

// takesBuffers: rx_buf_len is a choice of zero-copy receive by io_uring.
func takesBuffers(c *results.Cell) bool { return strings.HasPrefix(c.RX, "zcrx") }

// takesQueue: the mode takes a queue over, so that a flow can miss it.
func takesQueue(c *results.Cell) bool { return c.RX == "zcrx" || c.RX == "devmem" }

func control(c *results.Cell, s string) error {
	switch s {
	case "none":
		c.Control = ""
	case results.WrongQueue:
		c.Control = s
	default:
		return fmt.Errorf("%q is not none or %s", s, results.WrongQueue)
	}
	return nil
}

// factorNames are the names of all factors.
func factorNames() []string {
	var names []string
	for _, f := range Factors {
		names = append(names, f.Name)
	}
	return names
}

func lookupFactor(name string) *Factor {
	for i := range Factors {
		if Factors[i].Name == name {
			return &Factors[i]
		}
	}
	return nil
}

func mode(role stream.Role, at func(*results.Cell) *string) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) error {
		*at(c) = s
		_, err := stream.LookupMode(role, s)
		return err
	}
}

func onOff(at func(*results.Cell) **bool) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) error {
		v, err := parseBool(s)
		*at(c) = &v
		return err
	}
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", s)
}

func number(at func(*results.Cell) *int, lo, hi int) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) (err error) {
		*at(c), err = parseInt(s, lo, hi)
		return err
	}
}

func parseInt(s string, lo, hi int) (int, error) {
	v, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	if v < lo || v > hi {
		return 0, fmt.Errorf("%d is outside %d..%d", v, lo, hi)
	}
	return v, nil
}

func size(at func(*results.Cell) *int, lo, hi int) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) (err error) {
		*at(c), err = parseBytes(s, lo, hi)
		return err
	}
}

func parseBytes(s string, lo, hi int) (int, error) {
	b, err := units.ParseBytes(s)
	if err != nil {
		return 0, err
	}
	if int(b) < lo || int(b) > hi {
		return 0, fmt.Errorf("%s is outside %d..%d bytes", s, lo, hi)
	}
	return int(b), nil
}

func bigTCP(at func(*results.Cell) *int) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) (err error) {
		if s == "off" || s == "false" {
			*at(c) = bigTCPOff
			return nil
		}
		*at(c), err = parseBytes(s, bigTCPOff+1, bigTCPMax)
		return err
	}
}

func oneOf(at func(*results.Cell) *string, words ...string) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) error {
		*at(c) = s
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return nil
	}
}

// word reads the name of something that the kernel knows: asked for by root, one that
// it does not have is the name of a module that it loads.
func word(at func(*results.Cell) *string) func(*results.Cell, string) error {
	return func(c *results.Cell, s string) error {
		*at(c) = s
		if s == "" || len(s) > 15 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return fmt.Errorf("%.40q is not the name of one", s)
		}
		return nil
	}
}
