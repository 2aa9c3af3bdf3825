// SPDX-License-Identifier: MIT

package gvnic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what a card does besides, because it was asked for.
type Options struct {
	PCAP string // file that gets a copy of each packet that goes into buffers; empty: none

	Lose  int           // of so many segments one is lost; 0: none
	Swap  int           // of so many segments one comes after the next one; 0: none
	Late  time.Duration // that each transmit completion comes late
	Link  time.Duration // that the link takes to come up after a driver has begun
	Lost  time.Duration // after which the link is gone for a second; 0: never
	Hang  Command       // of the admin queue, which is never done
	Error Command       // one that is refused
}

// Command is a kind of command of the admin queue: each of its name, or the At-th one of a function
// alone. Without a name it is none.
type Command struct {
	Name string
	At   int // 0: each
}

// parseCommand reads "create-rx" or "create-rx@9".
func parseCommand(text string) (c Command, err error) {
	name, at, numbered := strings.Cut(text, "@")
	if _, ok := commands[name]; !ok {
		return c, fmt.Errorf("want a command, or COMMAND@N for the N-th: one of %s", strings.Join(Commands(), ", "))
	}
	c.Name = name
	if numbered {
		if c.At, err = strconv.Atoi(at); err == nil && c.At < 1 {
			err = errors.New("commands are counted from 1")
		}
	}
	return c, err
}

// is reports whether the n-th command with an opcode is one.
func (c Command) is(opcode uint32, n int) bool {
	return c.Name != "" && commands[c.Name] == opcode && (c.At == 0 || c.At == n)
}

// commands names those of the admin queue that can be made to fail.
var commands = map[string]uint32{
	"describe": opDescribe, "configure": opConfigure, "create-tx": opCreateTX, "create-rx": opCreateRX,
	"destroy-tx": opDestroyTX, "destroy-rx": opDestroyRX, "rss": opConfigureRSS, "rule": opExtended,
	"stats": opReportStats, "types": opTypes,
}

// Commands lists the names of the commands that can be made to fail.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }

// ParseOptions reads options as a command line has them: "lose=100 late=2ms".
func ParseOptions(text string) (o Options, err error) {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		var bad error
		switch name {
		case "pcap":
			o.PCAP = value
		case "lose":
			o.Lose, bad = strconv.Atoi(value)
		case "swap":
			o.Swap, bad = strconv.Atoi(value)
		case "late":
			o.Late, bad = time.ParseDuration(value)
		case "link":
			o.Link, bad = time.ParseDuration(value)
		case "lost":
			o.Lost, bad = time.ParseDuration(value)
		case "hang":
			o.Hang, bad = parseCommand(value)
		case "error":
			o.Error, bad = parseCommand(value)
		default:
			bad = errors.New("want pcap=FILE, lose=N, swap=N, late=TIME, link=TIME, lost=TIME, hang=COMMAND " +
				"or error=COMMAND")
		}
		if value == "" && bad == nil {
			bad = errors.New("it has no value")
		}
		if bad != nil {
			return o, fmt.Errorf("%q: %w", word, bad)
		}
	}
	return o, o.check()
}

func (o *Options) check() error {
	for name, v := range map[string]int64{"lose": int64(o.Lose), "swap": int64(o.Swap), "late": int64(o.Late),
		"link": int64(o.Link), "lost": int64(o.Lost)} {
		if v < 0 || (name == "lose" || name == "swap") && v == 1 {
			return fmt.Errorf("%s: too small", name)
		}
	}
	return nil
}

// fails counts a command, and reports whether it is to be refused, or never done.
func (f *Function) fails(opcode uint32) (refused, hangs bool) {
	if opcode > opExtended {
		return false, false // it is the guest's, and none
	}
	f.issued[opcode]++
	n := f.issued[opcode]
	return f.card.Error.is(opcode, n), f.card.Hang.is(opcode, n)
}

// after calls do with the lock held when wait is over, unless the card has ended by then; at once
// where there is nothing to wait for.
func (c *Card) after(wait time.Duration, do func()) {
	if wait <= 0 {
		do()
		return
	}
	time.AfterFunc(wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended {
			do()
		}
	})
}

// arrive takes a segment from the wire, which may lose it, or keep it back until the next one has
// gone by.
func (f *Function) arrive(q *rxQueue, s *segment) {
	o := &f.card.Options
	f.arrived++
	switch {
	case o.Lose > 0 && f.arrived%o.Lose == 0:
		return
	case o.Swap > 0 && f.arrived%o.Swap == 0 && f.held == nil:
		f.held = &heldSegment{q, s.clone()}
		return
	}
	f.place(q, s)
	if h := f.held; h != nil {
		f.held = nil
		f.place(h.q, &h.s)
	}
}

// heldSegment is one that was kept back.
type heldSegment struct {
	q *rxQueue
	s segment
}

// begin makes the link come up late, and go for a while, where that was asked for.
func (f *Function) begin() {
	if f.card.Link > 0 {
		f.later(f.card.Link, true)
	}
	if f.card.Lost > 0 {
		f.later(f.card.Link+f.card.Lost, false)
		f.later(f.card.Link+f.card.Lost+lostFor, true)
	}
}

// lostFor is how long a link that is lost is gone.
const lostFor = time.Second

// later brings the link up or takes it away, unless the device has been reset by then, and tells
// the driver.
func (f *Function) later(wait time.Duration, up bool) {
	epoch := f.epoch
	f.card.after(wait, func() {
		if f.epoch != epoch {
			return
		}
		if f.status &^= statusLink; up {
			f.status |= statusLink
		}
		if f.host != nil {
			f.host.Raise(blocks)
		}
	})
}
