// SPDX-License-Identifier: MIT

package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/units"
)

// NICQueue are the flags of receive modes that take a queue of the NIC over.
type NICQueue struct {
	queue, steer        optionalInt
	area                string
	size, bufLen, hold  units.Bytes
	refill, completions int
	batch               int
}

// optionalInt is a number that may be absent.
type optionalInt struct{ v *int }

func (o *optionalInt) String() string {
	if o.v == nil {
		return ""
	}
	return strconv.Itoa(*o.v)
}

func (o *optionalInt) Set(s string) error {
	n, err := strconv.Atoi(s)
	o.v = &n
	return err
}

func (o *optionalInt) Type() string { return "int" }

// AddFlags defines the flags.
func (q *NICQueue) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&q.queue, "queue", "RX queue to take over (default: the last)")
	f.Var(&q.steer, "steer-queue", "steer the flow to this RX queue instead: a control run that must be found out to copy")
	f.StringVar(&q.area, "area", "", "memory for payload: "+strings.Join(stream.AreaKinds, ", ")+" (default: pages; huge with a long --rx-buf-len; devmem: udmabuf)")
	f.Var(&q.size, "area-size", "bytes of memory for payload; 0: 64M; devmem: four times the NIC's ring, and --hold")
	f.Var(&q.bufLen, "rx-buf-len", "bytes of one of the NIC's buffers, a power of two; 0: a page")
	f.IntVar(&q.refill, "refill-entries", 0, "size of the ring by which buffers go back; 0: as many as there are buffers")
	f.IntVar(&q.completions, "cq-entries", 0, "size of the completion queue; 0: "+strconv.Itoa(stream.DefaultZCCQEntries))
	f.Var(&q.hold, "hold", "bytes of payload to keep before the oldest buffer goes back")
	f.IntVar(&q.batch, "token-batch", 0, "fragments to gather before they go back to the NIC, at most "+strconv.Itoa(stream.MaxTokenBatch)+"; 1: after every read; 0: "+strconv.Itoa(stream.DefaultTokenBatch))
	group(f, func(stream.Mode) bool { return true }, "queue", "steer-queue", "area", "area-size", "hold")
	group(f, func(m stream.Mode) bool { return !m.DMABuf }, "rx-buf-len", "refill-entries", "cq-entries")
	group(f, func(m stream.Mode) bool { return m.DMABuf }, "token-batch")
	cmd.RegisterFlagCompletionFunc("area", cobra.FixedCompletions(stream.AreaKinds, cobra.ShellCompDirectiveNoFileComp))
}

// group says in each flag's help which of the modes it is for.
func group(f *pflag.FlagSet, of func(stream.Mode) bool, names ...string) {
	var modes []string
	for _, m := range stream.Modes {
		if m.NICQueue && of(m) {
			modes = append(modes, m.Name)
		}
	}
	for _, n := range names {
		f.Lookup(n).Usage += " [" + strings.Join(modes, ", ") + "]"
	}
}

// Options are the flags as a data path takes them.
func (q *NICQueue) Options() stream.NICQueue {
	return stream.NICQueue{Queue: q.queue.v, SteerTo: q.steer.v, Area: stream.AreaKind(q.area), AreaBytes: int(q.size), BufLen: int(q.bufLen),
		RefillEntries: q.refill, CQEntries: q.completions, HoldBytes: int(q.hold), TokenBatch: q.batch}
}
