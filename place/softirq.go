package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/stream"
)

// Placement is where an interface's receive softirq was put, and the way back.
type Placement struct {
	Dev string
	CPU int
	By  string // "irq" or "rps"

	sys     *os.File
	changes []change
}

type change struct {
	knob
	before, set string
}

// Softirq puts the receive softirq of interface dev, in the calling thread's
// network namespace, on one CPU: the interrupts of all its queues where it has
// any, else by RPS. It needs root. What was changed is undone by Undo.
func Softirq(dev string, cpu int) (*Placement, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	irqs, err := d.IRQs()
	if err != nil {
		return nil, err
	}
	p := &Placement{Dev: dev, CPU: cpu}
	if p.sys, err = mountSysfs(); err != nil {
		return nil, &stream.Error{Op: "place the softirq of " + dev, Err: err, How: "run as root"}
	}
	if err := p.place("/proc", fdPath(p.sys), irqs); err != nil {
		return nil, errors.Join(err, p.Undo())
	}
	return p, nil
}

func (p *Placement) place(proc, sys string, irqs []int) error {
	queues, err := filepath.Glob(filepath.Join(sys, "class/net", p.Dev, "queues", "rx-*"))
	if err != nil || len(queues) == 0 {
		return &stream.Error{Op: fmt.Sprintf("place the softirq of %s: it has no receive queues in sysfs", p.Dev), Err: err, How: "use another interface, or the layout as found"}
	}
	slices.Sort(queues)
	steer := "0" // where the interrupt is, the packets stay
	p.By = "irq"
	if len(irqs) == 0 {
		p.By, steer = "rps", mask(p.CPU)
	}
	for _, irq := range irqs {
		if err := p.change(irqKnob(proc, irq), fmt.Sprint(p.CPU)); err != nil {
			return err
		}
	}
	for _, q := range queues {
		k := rpsKnob(sys, p.Dev, filepath.Base(q))
		if now, err := k.get(); p.By == "irq" && (err != nil || sameMask(now, steer)) {
			continue // a kernel without RPS does not steer
		}
		if err := p.change(k, steer); err != nil {
			return err
		}
	}
	return nil
}

func (p *Placement) change(k knob, v string) error {
	before, err := k.get()
	if err != nil || before == v {
		return err
	}
	if err := k.set(v); err != nil {
		return err
	}
	// The kernel writes it in its own way.
	now, err := k.get()
	p.changes = append(p.changes, change{k, before, now})
	return err
}

// String says what was done, for people.
func (p *Placement) String() string {
	if p.By == "irq" {
		return fmt.Sprintf("the interrupts of %s go to CPU %d", p.Dev, p.CPU)
	}
	return fmt.Sprintf("RPS sends the packets of %s, which has no interrupts, to CPU %d", p.Dev, p.CPU)
}

// Check finds what somebody else has changed since.
func (p *Placement) Check() error {
	for _, c := range p.changes {
		now, err := c.get()
		if err != nil {
			return err
		}
		if now != c.set {
			return &stream.Error{Op: fmt.Sprintf("%s of %s was set to %s and is now %s", c.name, p.Dev, c.set, now),
				How: "something else moves interrupts: systemctl stop irqbalance"}
		}
	}
	return nil
}

// Undo takes the changes back, the last one first. What somebody else has
// changed since is left alone and is an error.
func (p *Placement) Undo() error {
	var errs []error
	for _, c := range slices.Backward(p.changes) {
		now, err := c.get()
		switch {
		case err != nil:
			errs = append(errs, err)
		case now != c.set:
			errs = append(errs, &stream.Error{Op: fmt.Sprintf("the CPU layout was not kept: %s of %s was %s, we set it to %s and somebody else to %s: left alone", c.name, p.Dev, c.before, c.set, now),
				How: "systemctl stop irqbalance, or whatever else moves interrupts; by hand: echo " + c.before + " > " + c.public(p.Dev)})
		default:
			errs = append(errs, c.knob.set(c.before))
		}
	}
	p.changes = nil
	if p.sys != nil {
		errs = append(errs, p.sys.Close())
		p.sys = nil
	}
	return errors.Join(errs...)
}
