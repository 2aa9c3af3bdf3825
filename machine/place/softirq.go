// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
)

// Placement is where an interface's receive softirq was put: a lease of the
// settings that do it.
type Placement struct {
	Dev string
	CPU int
	By  string // "irq" or "rps"

	dev   *nic.Device
	lease *lease.Lease
}

// Softirq puts the receive softirq of interface dev, in the calling thread's
// network namespace, on one CPU: the interrupts of all its queues where it has
// any, else by RPS. It needs root. What was changed is restored by Undo, or, when
// this process dies before, as package lease restores.
func Softirq(dev string, cpu int) (*Placement, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	p := &Placement{Dev: dev, CPU: cpu, dev: d, lease: lease.New(lease.Options{})}
	if err := p.place(); err != nil {
		return nil, errors.Join(err, p.Undo())
	}
	return p, nil
}

func (p *Placement) place() error {
	if err := p.lease.Start(); err != nil {
		return err
	}
	irqs, err := p.dev.IRQs()
	if err != nil {
		return err
	}
	queues, err := p.dev.Queues()
	if err != nil {
		return err
	}
	if len(queues) == 0 {
		return &fault.Error{Op: fmt.Sprintf("place the softirq of %s: it has no receive queues", p.Dev), How: "set it up, use another interface, or the layout as found"}
	}
	var wants []lease.Want
	p.By, wants = wanted(p.Dev, p.CPU, irqs, queues, p.steers)
	p.lease.Use(p.dev)
	return p.lease.Apply(wants...)
}

// steers reports whether RPS sends a queue's packets elsewhere.
func (p *Placement) steers(queue string) bool {
	s, err := p.dev.Setting(queue)
	if err != nil {
		return false
	}
	mask, err := s.Get()
	return err == nil && mask != nowhere // a kernel without RPS does not steer
}

// nowhere is the mask of RPS that leaves packets where the interrupt is.
const nowhere = "0"

// wanted are the settings that put the softirq on a CPU.
func wanted(dev string, cpu int, irqs []int, queues []nic.Queue, steers func(string) bool) (by string, out []lease.Want) {
	by = "rps"
	for _, irq := range irqs {
		by = "irq"
		out = append(out, lease.Want{Dev: dev, Name: fmt.Sprintf("interrupt %d", irq), Value: fmt.Sprint(cpu)})
	}
	for _, q := range queues {
		name := fmt.Sprintf("rps %d", q.ID)
		switch {
		case by == "rps":
			out = append(out, lease.Want{Dev: dev, Name: name, Value: nic.CPUMask(cpu)})
		case steers(name):
			out = append(out, lease.Want{Dev: dev, Name: name, Value: nowhere})
		}
	}
	return by, out
}

// String says what was done, for people.
func (p *Placement) String() string {
	if p.By == "irq" {
		return fmt.Sprintf("the interrupts of %s go to CPU %d", p.Dev, p.CPU)
	}
	return fmt.Sprintf("RPS sends the packets of %s, which has no interrupts, to CPU %d", p.Dev, p.CPU)
}

const mover = "something else moves interrupts: systemctl stop irqbalance"

// Check finds what somebody else has changed since.
func (p *Placement) Check() error {
	err := p.lease.Verify()
	if m := (*lease.Moved)(nil); errors.As(err, &m) {
		return &fault.Error{Op: err.Error(), How: mover}
	}
	return err
}

// Undo takes the changes back, the last one first. What somebody else has
// changed since is left alone and is an error.
func (p *Placement) Undo() error {
	err := p.lease.Restore()
	if err != nil {
		err = &fault.Error{Op: "the CPU layout was not kept", Err: err, How: mover + "; " + fault.Fix(err)}
	}
	return errors.Join(err, p.dev.Close())
}
