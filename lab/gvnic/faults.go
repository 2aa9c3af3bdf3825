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
	Hang  string        // a command of the admin queue that is never done: see Commands
	Error string        // one that is refused
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
		case "hang":
			o.Hang = value
		case "error":
			o.Error = value
		default:
			bad = errors.New("want pcap=FILE, lose=N, swap=N, late=TIME, link=TIME, hang=COMMAND or error=COMMAND")
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
		"link": int64(o.Link)} {
		if v < 0 || (name == "lose" || name == "swap") && v == 1 {
			return fmt.Errorf("%s: too small", name)
		}
	}
	for _, c := range []string{o.Hang, o.Error} {
		if _, ok := commands[c]; c != "" && !ok {
			return fmt.Errorf("%q: want a command: one of %s", c, strings.Join(Commands(), ", "))
		}
	}
	return nil
}

// fails reports whether a command is to be refused, or never done.
func (o *Options) fails(opcode uint32) (refused, hangs bool) {
	is := func(name string) bool { return name != "" && commands[name] == opcode }
	return is(o.Error), is(o.Hang)
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

// linkUp tells the driver that the link is there, which it may take a while to be.
func (f *Function) linkUp() {
	if f.card.Link == 0 {
		return
	}
	epoch := f.epoch
	f.card.after(f.card.Link, func() {
		if f.epoch == epoch {
			f.status |= statusLink
			if f.host != nil {
				f.host.Raise(blocks)
			}
		}
	})
}
