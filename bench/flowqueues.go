// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// flowQueues foresees the RX queues by which the flows of a receiver will come, flow by flow, or
// why that cannot be; nil: not known before its end is opened, or they come as found. The end
// chooses in the same way (package endpoint, withQueues).
func (o *Options) flowQueues(c plan.Cell) ([]int, error) {
	c.OnLease()
	n := c.NQueues()
	if n == 0 || len(o.lanes) > 0 { // each interface has its own
		return nil, nil
	}
	first, alone := c.FirstQueue()
	has := o.rxQueues[index(stream.RX)]
	switch set := c.Over(o.SUTSettings.Host); {
	case set.Channels > 0:
		has = upTo(set.Channels)
	case set.Set != "" || len(has) == 0: // which may be another number of queues
		if o.beside != nil {
			return nil, nil
		}
		return o.from(c), nil
	}
	if q := o.beside; q != nil {
		all, err := nicqueue.Among(c.RX, o.SUTDev, has, first, alone, q.All, q.All)
		if err != nil { // the group will be split
			return nil, nil
		}
		return inTurn(all[q.From:q.From+q.Own], c.NFlows()), nil
	}
	if c.NFlows() == 1 && c.Queues == 0 && !c.ByPort() { // which its path chooses by itself
		return o.ofOne(c, has)
	}
	return nicqueue.Among(c.RX, o.SUTDev, has, first, alone, n, c.NFlows())
}

// ofOne chooses the queue of a single flow, by the same rules as its path: the one that is named,
// or the last, and another one must be left.
func (o *Options) ofOne(c plan.Cell, has []int) ([]int, error) {
	id := *cmp.Or(c.Queue, &has[len(has)-1])
	refused := &fault.Unsupported{Mode: c.RX, Blocked: true}
	switch {
	case len(has) < 2:
		refused.Op = fmt.Sprintf("%s: keep RX queue %d free of other flows: it has only %d RX queue", o.SUTDev, id,
			len(has))
		refused.How = fmt.Sprintf("make more queues: --channels %d, if it can have as many (ethtool -l %s)",
			max(id, 1)+1, o.SUTDev)
		if c.Queue != nil {
			refused.How += "; or leave out --queue (in files queue), if any queue will do"
		}
	case !slices.Contains(has, id):
		refused.Op = fmt.Sprintf("%s: find RX queue %d: it has %s", o.SUTDev, id, counter.FormatCPUList(has))
		refused.How = fmt.Sprintf(
			"choose one of them (--queue), or make more: --channels %d, if it can have as many (ethtool -l %s)", id+1,
			o.SUTDev)
	default:
		return []int{id}, nil
	}
	return nil, refused
}

// inTurn gives each of several flows a queue.
func inTurn(queues []int, flows int) (ids []int) {
	for n := range flows {
		ids = append(ids, queues[n%len(queues)])
	}
	return ids
}

// from numbers the flows' queues from the one that was named.
func (o *Options) from(c plan.Cell) (ids []int) {
	first, alone := c.FirstQueue()
	if first == nil || alone && c.NQueues() > 1 { // it depends on how many there are
		return nil
	}
	for n := range c.NFlows() {
		ids = append(ids, *first+n%c.NQueues())
	}
	return ids
}

func upTo(n int) (ids []int) {
	for i := range n {
		ids = append(ids, i)
	}
	return ids
}

// tooFewQueues refuses a cell that asks for RX queues which the interface does not have, as it is
// or with the channels that the cell gives it.
func (o *Options) tooFewQueues(c plan.Cell) *Missing {
	if o.SUTDev == "" {
		return nil
	}
	if _, err := o.flowQueues(c); err != nil {
		return &Missing{Reason: fault.Reason(err), Fix: fault.Fix(err)} // blocked, as all of [Runner.crammed]
	}
	return nil
}

// steering describes in words what keeps queues free for flows and steers these to them: the queues
// that RSS leaves out, and the rules.
func steering(c plan.Cell, ids []int) (queues, rules string) {
	flows, n := c.NFlows(), c.NQueues()
	switch {
	case flows == 1 && ids == nil && !c.ByPort():
		queues = "the last queue"
	case ids == nil && n == 1:
		queues = "the last queue, whose number is looked up for each run"
	case ids == nil:
		queues = fmt.Sprintf("the last %d queues, whose numbers are looked up for each run", n)
	default:
		queues = queueList(ids)
	}
	if c.ByPort() {
		return queues, fmt.Sprintf("one for all TCP flows to the data port: %d, into that context", flows)
	}
	if flows == 1 {
		to := queues
		if elsewhere := astray(c); elsewhere != "" {
			to = elsewhere
		}
		return queues, "the flow to " + to
	}
	return queues, fmt.Sprintf("an ntuple rule for each of %d flows: %s", flows, ofFlows(c, ids))
}

// overQueues words which queues the context of a port's rule has.
func overQueues(c plan.Cell, queues string) string {
	if c.Control == plan.WrongQueue {
		return "another queue, on purpose (control)"
	}
	return queues
}

// queueList formats "queue 2" or "queues 2-3".
func queueList(ids []int) string {
	one := slices.Compact(slices.Sorted(slices.Values(ids)))
	word := "queue "
	if len(one) > 1 {
		word = "queues "
	}
	return word + counter.FormatCPUList(one)
}

// mostRules is how many rules are listed one by one.
const mostRules = 8

// ofFlows describes to which queue each flow is steered.
func ofFlows(c plan.Cell, ids []int) string {
	flows, n := c.NFlows(), c.NQueues()
	elsewhere := astray(c)
	var s string
	switch {
	case n == 1 && ids == nil:
		s = "all to that queue"
	case n == 1:
		s = "all to " + queueList(ids)
	case ids == nil:
		s = fmt.Sprintf("flow n to number n mod %d of these", n)
	case flows > mostRules:
		s = fmt.Sprintf("flow n to queue %d + n mod %d", ids[0], n)
	default:
		var each []string
		for i, q := range ids {
			if i == flows-1 && elsewhere != "" {
				break
			}
			each = append(each, fmt.Sprintf("flow %d to queue %d", i, q))
		}
		s = strings.Join(each, ", ")
	}
	if elsewhere != "" {
		s += fmt.Sprintf(", but flow %d to %s", flows-1, elsewhere)
	}
	return s
}

// astray describes where the last flow of a control run is steered; "" where all go to their
// queues.
func astray(c plan.Cell) string {
	switch {
	case c.Control == plan.WrongQueue:
		return "another queue, on purpose (control)"
	case c.SteerTo != nil:
		return fmt.Sprintf("queue %d, on purpose", *c.SteerTo)
	}
	return ""
}
