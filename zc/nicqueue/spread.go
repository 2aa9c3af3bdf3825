// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// Spread chooses the RX queues of a number of flows on interface dev, of the calling thread's
// network namespace: queues of them, or without a number as many as there are flows, from *first
// on, or the last ones, which drivers and irqbalance favour least; alone: from *first, and then
// the last ones, from behind. Flow n gets the queue at n.
//
// It refuses more queues than the interface has, and all that it has, since those of a flow are
// kept free of others, which need one; and of modes that take queues over those that the driver
// does not give.
func Spread(m stream.Mode, dev string, first *int, alone bool, queues, flows int) ([]int, error) {
	var out []int
	err := On(m.Name, dev, func(d *nic.Device) error {
		all, err := d.Queues()
		if err != nil {
			return Unsupported(m.Name, err)
		}
		s := spread{mode: m.Name, dev: dev, alone: alone, more: d.MoreQueues}
		for _, q := range all {
			s.has = append(s.has, q.ID)
		}
		if out, err = s.over(first, queues, flows); err != nil {
			return err
		}
		if !m.TakesQueue() {
			return nil
		}
		for _, id := range out {
			if err := firstQueue(m.Name, d, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Among chooses as [Spread] does, out of the RX queues that interface dev is known to have.
func Among(mode, dev string, has []int, first *int, alone bool, queues, flows int) ([]int, error) {
	s := spread{mode: mode, dev: dev, has: has, alone: alone, more: func(n string) string { return "--channels " + n }}
	return s.over(first, queues, flows)
}

// spread is what flows are spread over.
type spread struct {
	mode, dev string
	has       []int                 // RX queues of the interface, in order
	alone     bool                  // the first is the only one that is named
	more      func(n string) string // the command that makes so many
}

func (s spread) over(first *int, queues, flows int) (out []int, err error) {
	if queues <= 0 {
		queues = flows
	}
	queues = min(queues, flows)
	if len(s.has) == 0 {
		return nil, noQueues(s.mode, s.dev)
	}
	if queues >= len(s.has) {
		return nil, s.refuse(fmt.Sprintf("take %d of its %d RX queues, but at least one must be left for other flows",
			queues, len(s.has)), queues+1)
	}
	from := len(s.has) - queues
	if first != nil {
		from = *first
	}
	if from < 0 || from >= len(s.has) || !s.alone && from+queues > len(s.has) {
		return nil, s.refuse(fmt.Sprintf("take %d RX queues from queue %d on, but it has %d", queues, from, len(s.has)),
			max(from+queues, len(s.has)))
	}
	of := s.has[from:]
	if s.alone && first != nil {
		others := slices.Delete(slices.Clone(s.has), from, from+1)
		slices.Reverse(others)
		of = append([]int{s.has[from]}, others...)
	}
	for n := range flows {
		out = append(out, of[n%queues])
	}
	return out, nil
}

// refuse makes an error of what failed, and how many queues would do.
func (s spread) refuse(what string, enough int) error {
	fewer := ""
	if enough > 2 { // one flow needs a queue in any case
		fewer = "; or use fewer: --queues, or --flows; or start at another: --queue"
	}
	return &fault.Unsupported{Mode: s.mode, Blocked: true, Op: s.dev + ": " + what, How: "make more queues: " +
		s.more(fmt.Sprint(enough)) + fewer}
}
