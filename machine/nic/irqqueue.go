// SPDX-License-Identifier: MIT

package nic

// QueueIRQ is an interrupt of the interface's queues.
type QueueIRQ struct {
	IRQ   int
	Queue int // the RX queue that it serves; -1: several, none, or not known
}

// QueueIRQs lists the interrupts of [Device.IRQs] with the RX queue that each serves: as the
// driver tells by napi-get, else as their names say.
func (d *Device) QueueIRQs() ([]QueueIRQ, error) {
	irqs, err := d.IRQs()
	if err != nil || len(irqs) == 0 {
		return nil, err
	}
	queues, err := d.Queues()
	if err != nil {
		return nil, err
	}
	of, err := d.irqsByNAPI(queues)
	if err != nil {
		return nil, err
	}
	if len(of) == 0 {
		of = d.irqsByName(queues)
	}
	var out []QueueIRQ
	for _, irq := range irqs {
		q := QueueIRQ{irq, -1}
		if len(of[irq]) == 1 {
			q.Queue = of[irq][0]
		}
		out = append(out, q)
	}
	return out, nil
}

// irqsByNAPI maps each interrupt that the driver reports to its RX queues.
func (d *Device) irqsByNAPI(queues []Queue) (map[int][]int, error) {
	napis, err := d.NAPIs()
	if err != nil {
		return nil, err
	}
	of := map[int][]int{}
	for _, n := range napis {
		for _, q := range queues {
			if n.IRQ > 0 && n.ID != 0 && q.NAPI == n.ID {
				of[n.IRQ] = append(of[n.IRQ], q.ID)
			}
		}
	}
	return of, nil
}

// irqsByName maps each interrupt to its RX queues as far as the names show them; where they do not,
// that is no reason to fail.
func (d *Device) irqsByName(queues []Queue) map[int][]int {
	of := map[int][]int{}
	f, err := d.function()
	if f == nil || err != nil {
		return of
	}
	table, err := ReadInterrupts()
	if err != nil {
		return of
	}
	all, err := f.queues(table)
	if err != nil {
		return of
	}
	for _, q := range queues {
		if irq, ok := ofQueue(all, q.ID, len(queues)); ok {
			of[irq] = append(of[irq], q.ID)
		}
	}
	return of
}
