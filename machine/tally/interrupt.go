// SPDX-License-Identifier: MIT

package tally

import (
	"errors"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

const sourceIRQ = "/sys/kernel/irq/N/per_cpu_count"

// readIRQs reads how often each interrupt of the interface's queues came.
func readIRQs(r *Reader, x *Reading) (out []measure.Count, err error) {
	x.IRQs = map[int]uint64{}
	for _, q := range r.irqs {
		n, err := nic.IRQCount(q.IRQ)
		if errors.Is(err, os.ErrNotExist) {
			continue // its queue is gone
		}
		if err != nil {
			return out, err
		}
		x.IRQs[q.IRQ] = n
		name := fmt.Sprintf("irq%d", q.IRQ)
		if q.Queue >= 0 {
			name = fmt.Sprintf("rx%d", q.Queue)
		}
		// Each CPU's count has 32 bits; so the sum's last 32 bits are right.
		out = append(out, measure.Count{Name: name, Metric: "interrupts_" + name, Unit: "1", Source: sourceIRQ,
			Kind: measure.Counter32, Value: n})
	}
	return out, nil
}

var interruptMetrics = []measure.MetricDoc{
	{Names: "interrupts_rxN interrupts_irqN", Units: "1",
		Source: sourceIRQ,
		Meaning: "of an RX queue; of an interrupt, where it is not known of which queue it is, " +
			"or is of several"},
}
