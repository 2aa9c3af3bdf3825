// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/cpulist"
)

// Contender is one way to run flows.
type Contender struct {
	Name     string
	Receiver func(addr string, port int) []string // command line
	Sender   func(addr string, port int) []string
	Outcome  func(receiver, sender []byte) (Flow, error) // of what the two wrote to stdout

	// The CPUs that the two are confined to from outside; nil: they pin their threads themselves.
	ReceiverCPUs, SenderCPUs []int
	Stays                    bool // the receiver does not end by itself
	Both                     bool // its payload goes both ways, and its figures are of the sum
}

// Flow is what a tool says about its flows together, seen from the receiver.
type Flow struct {
	Bytes   uint64
	Seconds float64
}

// Load is what is moved in which way.
type Load struct {
	Size  int // bytes of a message and of a read
	Flows int
}

// ofThreads lists as many of the CPUs as there are threads: zcbench takes no more.
func ofThreads(all cpulist.Flag, n int) string {
	own := all[:min(len(all), max(n, 1))]
	return own.String()
}

// bothWays has zcbench's ends send and receive at once, each flow with a thread for each way.
func (t Tools) bothWays(l Load) Contender {
	c := t.zcbench("tcp", "tcp", l)
	c.Name, c.Both = "zcbench tcp both ways", true
	for _, line := range []*func(string, int) []string{&c.Receiver, &c.Sender} {
		own := *line
		*line = func(addr string, port int) []string {
			return slices.Insert(own(addr, port), 1, "--both", "on")
		}
	}
	return c
}

// zcbench in one of its modes.
func (t Tools) zcbench(rx, tx string, l Load) Contender {
	common := func(program, mode, cpus string, more ...string) []string {
		line := []string{program, "--mode", mode, "--json", "--message-size", strconv.Itoa(l.Size), "--congestion",
			t.Congestion,
			"--cpu", cpus, "--duration", t.Duration.String()}
		if l.Flows > 1 { // what is older than flows can be compared where there is one
			line = append(line, "--flows", strconv.Itoa(l.Flows))
		}
		return append(line, more...)
	}
	return Contender{
		Name: fmt.Sprintf("zcbench %s -> %s", tx, rx),
		Receiver: func(addr string, port int) []string {
			own := []string{"--read-size", strconv.Itoa(l.Size), "--accept-timeout", "10s", "--listen",
				fmt.Sprintf("%s:%d", addr, port)}
			if rx == "uring" {
				own = append(own, "--gather", "50us") // what only a ring has without one call more
			}
			return common(t.Zcrecv, rx, ofThreads(t.ReceiverCPUs, l.Flows), own...)
		},
		Sender: func(addr string, port int) []string {
			return common(t.Zcsend, tx, ofThreads(t.SenderCPUs, l.Flows), fmt.Sprintf("%s:%d", addr, port))
		},
		Outcome: func(receiver, _ []byte) (Flow, error) { return parseZcrecv(receiver) },
	}
}
