// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// ofPoll adds how NAPI is set where the cell says who polls: of the queues that flows are known to
// come by, or of all.
func (s *collected) ofPoll(role stream.Role, c plan.Cell, dev string, o Options) {
	n := c.PollNAPI(role)
	var all []string
	for _, x := range []struct {
		name  string
		value int64
	}{{"defer-hard-irqs", int64(n.DeferHardIRQs)}, {"gro-flush-timeout", n.GROFlushTimeoutNs},
		{"irq-suspend-timeout", n.IRQSuspendNs}} {
		if x.value > 0 {
			all = append(all, fmt.Sprintf("%s %d", x.name, x.value))
		}
	}
	if n.Threaded != "" {
		all = append(all, "threaded "+n.Threaded+", threads bound")
	}
	if len(all) == 0 {
		return
	}
	queues := "every RX queue"
	if role == stream.RX {
		if ids, err := o.flowQueues(c); err == nil && len(ids) > 0 {
			queues = "RX " + queueList(ids)
		} else if c.TakesQueues() {
			queues = "the flows' RX queues"
		}
	}
	s.add(dev+": NAPI of "+queues, strings.Join(all, ", "))
}
