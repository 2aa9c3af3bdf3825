// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/packet/xdp"
)

// xdpBench is xdp-bench of xdp-tools: a program on all frames of an interface.
type xdpBench struct {
	path       string
	operation  string // on frames that it drops or passes
	dispatcher bool   // with libxdp's program in front, which calls it
}

// line builds its command line. The tool shows and adds up what it has counted each second.
func (b xdpBench) line(c xdpCase, dev string) []string {
	skip := "LIBXDP_SKIP_DISPATCHER=1"
	if b.dispatcher {
		skip = "LIBXDP_SKIP_DISPATCHER=0"
	}
	mode := "native"
	if c.attach == xdp.Generic {
		mode = "skb"
	}
	operation := []string{"-p", b.operation}
	switch {
	case c.action == xdp.TX:
		operation = []string{"-p", "swap-macs"}
	case b.operation == loadIP:
		operation = []string{"-p", "parse-ip", "-l", "load-bytes"}
	}
	return append(append([]string{"env", "LC_ALL=C", skip, b.path, c.action.String(), "-m", mode}, operation...), "-i",
		"1", dev)
}

// operations are its words for what a program does with a frame, and loadIP. Each program of ours
// looks at the addresses of IP. Of parse-ip the compiler leaves no more than a look at the first
// byte of that header; the others look at less.
var operations = []string{"parse-ip", loadIP, "read-data", "no-touch"}

// loadIP is parse-ip which copies the two headers out of the frame, by a helper of the kernel: so
// it reads as much of a frame as ours does, addresses too.
const loadIP = "load-ip"

// runningBench is one that has its program at the interface.
type runningBench struct{ p *process }

var ( // tests have more patience
	benchCounts = 10 * time.Second // until it must have begun to count
	benchEnds   = 5 * time.Second
)

// start attaches it, and waits until it counts: it has shown a second's figures then.
func (b xdpBench) start(ctx context.Context, l *xdpLink, c xdpCase) (xdpReceiver, error) {
	p, err := startIn(ctx, l.pair.SUT.Netns, 0, l.senderCPU(), b.line(c, l.pair.SUT.Dev))
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(benchCounts); !bytes.Contains(p.stdout.Bytes(),
		[]byte("rx/s")); time.Sleep(5 * time.Millisecond) {
		if p.HasEnded() || time.Now().After(end) || ctx.Err() != nil {
			(&runningBench{p}).ask()
			return nil, fmt.Errorf("xdp-bench does not count frames; it said: %s %s", p.says(),
				plaintext.Line(string(p.stdout.Bytes())))
		}
	}
	return &runningBench{p}, nil
}

// end makes it take its program away, and returns how many frames it says it has seen.
func (r *runningBench) end() (uint64, error) {
	if err := r.ask(); err != nil {
		return 0, err
	}
	return parseXDPBench(r.p.stdout.Bytes())
}

// ask makes it end, which takes its program away, and libxdp's dispatcher: that is pinned in a file
// system which outlives the namespace. It kills one that does not end.
func (r *runningBench) ask() error {
	_ = r.p.Cmd.Process.Signal(os.Interrupt) // it has ended, if it is not there
	select {
	case <-r.p.Ended:
		return nil
	case <-time.After(benchEnds):
		r.p.Kill()
		return errors.New("xdp-bench does not end")
	}
}

func (r *runningBench) close() error {
	_ = r.ask() // what it said of the run is what counts
	return nil
}

// parseXDPBench reads how many frames it has seen, from the summary that it ends with. There is no
// such line where there were none.
func parseXDPBench(out []byte) (uint64, error) {
	_, summary, ok := strings.Cut(string(out), "  Duration ")
	if !ok {
		return 0, errors.New("read what xdp-bench wrote: it has no summary")
	}
	for line := range strings.Lines(summary) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "Packets received" {
			continue
		}
		digits := strings.Map(func(r rune) rune {
			if strings.ContainsRune(",.' \u00a0\u202f", r) {
				return -1 // its locale's thousands
			}
			return r
		}, strings.TrimSpace(value))
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read what xdp-bench wrote: %q is no number of packets",
				plaintext.Line(strings.TrimSpace(value)))
		}
		return n, nil
	}
	return 0, nil
}
