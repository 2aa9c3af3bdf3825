// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/nic"
)

// recorded asks for a fact of the host, or looks up what a record says of it.
func recorded[T any](name string, f func() T) T {
	v, _ := tape.Ask("host: "+name, func() (T, error) { return f(), nil }) // of an old record the zero value
	return v
}

// Record writes down what this host answers when the doctor asks it about interface dev: the
// replies, without addresses, names and serial numbers. [Replay] says of it what [Checks] and
// [Ladders] say here.
func Record(dev string) (*tape.File, error) {
	f, err := tape.Record(func() error {
		d, err := nic.Open(dev)
		if err != nil {
			return err
		}
		defer d.Close()
		Ladders(dev)
		recordedChecks()
		d.Survey()
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.Tool, f.Dev = version.Tool(), nameOf(dev)
	own, err := identities()
	if err != nil {
		return nil, err
	}
	if f.Dev != dev && len(dev) > 5 { // a shorter one stands somewhere by chance
		own = append(own, named(dev))
	}
	return f, mustBeAnonymous(f, own)
}

// recordedChecks runs or looks up the checks that a record has.
func recordedChecks() []wire.Check {
	return recorded("checks", func() []wire.Check {
		system, measures := publicChecks()
		return slices.Concat(system, measures)
	})
}

// Diagnosis is what the doctor says from a record.
type Diagnosis struct {
	Dev    wire.Interface
	Checks []wire.Check
	Modes  []wire.Ladder
}

// Replay diagnoses the host that a record was made on, as the doctor would there. It asks no
// kernel.
func Replay(f *tape.File) (*Diagnosis, error) {
	r := &Diagnosis{Dev: wire.Interface{Name: f.Dev}}
	err := f.Replay(func() error {
		d, err := nic.Open(f.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		l, err := d.Link()
		if err != nil {
			return err
		}
		drv, _ := d.Driver() // the driver's rung says why
		r.Dev.Up, r.Dev.MTU, r.Dev.Driver, r.Dev.Firmware = l.Up, l.MTU, drv.Name, drv.Firmware
		r.Modes, r.Checks = Ladders(f.Dev), recordedChecks()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, wire.Plain(r) // what a driver calls itself is anybody's word
}

// hidden is a name that has a MAC address in it, such as enx0123456789ab.
var hidden = lazy.Regexp(`[0-9a-fA-F]{12}`)

// nameOf names an interface as records do. A name that a shell or a program would take for
// something else stands in no command.
func nameOf(dev string) string {
	if hidden().MatchString(dev) || !tape.PlainName(dev) {
		return "nic0"
	}
	return dev
}

// identity is an address of this host, or a name.
type identity struct {
	what string
	text []string // as it is written
	raw  []byte   // as the kernel has it; nil: too short, or with too many zeros, to be found by chance alone
	name bool     // it is a name, which is found in longer words too
}

// identities collects the addresses of all interfaces, and the names that contain one.
func identities() ([]identity, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var out []identity
	for _, i := range all {
		if hidden().MatchString(i.Name) {
			out = append(out, named(i.Name))
		}
		if mac := i.HardwareAddr; len(mac) > 0 && len(bytes.Trim(mac, "\x00")) > 0 {
			out = append(out, identity{what: "a MAC address",
				text: []string{mac.String(), strings.ReplaceAll(mac.String(), ":", "-")}, raw: distinct(mac)})
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list the addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if p, ok := a.(*net.IPNet); ok && !p.IP.IsLoopback() {
				out = append(out, identity{what: "an IP address", text: []string{p.IP.String()}, raw: distinct(p.IP)})
			}
		}
	}
	return out, nil
}

// named makes an identity of an interface whose name tells whose it is.
func named(dev string) identity {
	return identity{what: "the name of an interface", text: []string{dev}, name: true}
}

// distinct returns the address if it occurs nowhere by chance; nil: it may.
func distinct(b []byte) []byte {
	if four := net.IP(b).To4(); len(b) == 16 && four != nil || len(b)-bytes.Count(b, []byte{0}) < 5 {
		return nil
	}
	return b
}

// mustBeAnonymous refuses a record with an identity of this host in it, also where the kernel's
// bytes have it as text. None can be: this is the second look.
func mustBeAnonymous(f *tape.File, own []identity) error {
	var text bytes.Buffer
	if err := f.Write(&text); err != nil {
		return err
	}
	low := strings.ToLower(text.String())
	for _, id := range own {
		if id.in(low) {
			return &fault.Error{Op: "make the record",
				Err: errors.New("it would have " + id.what + " of this host in it"),
				How: "report it, without a record: it is a bug of zcbench"}
		}
	}
	return nil
}

// in reports whether text in lower case has the identity, also in hexadecimal.
func (id identity) in(text string) bool {
	if len(id.raw) > 0 && strings.Contains(text, hex.EncodeToString(id.raw)) {
		return true
	}
	return slices.ContainsFunc(id.text, func(s string) bool {
		as := strings.ToLower(s)
		return containsWord(text, as) || id.name && strings.Contains(text, as) ||
			strings.Contains(text, hex.EncodeToString([]byte(s)))
	})
}

// containsWord reports whether s has the address word, not as a part of a longer one.
func containsWord(s, word string) bool {
	of := func(c byte) bool { return c == '.' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		i += at
		rest := strings.TrimPrefix(s[i+len(word):], ".") // which may end a sentence
		if (i == 0 || !of(s[i-1])) && (rest == "" || !of(rest[0])) {
			return true
		}
		at = i + 1
	}
}
