// SPDX-License-Identifier: MIT

package place

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Placement is where an interface's receive softirq was put: a lease of the
// settings that do it.
type Placement struct {
	Dev    string
	CPUs   []int       // on which it is to run, in order
	Queues map[int]int // the CPU of an RX queue, where it has one of its own
	By     string      // "irq", "rps", [byThread] or [byNAPI]

	dev     *nic.Device
	lease   *lease.Lease
	threads []threadOn // of byThread and byNAPI
	words   []string   // of byNAPI, what was set
}

// Softirq puts the receive softirq of interface dev, in the calling thread's
// network namespace, on the CPUs that are wanted: the interrupts of all its queues where
// it has any, else by RPS. It needs root. What was changed is restored by Undo, or, when
// this process dies before, as package lease restores.
func Softirq(dev string, want Want) (*Placement, error) {
	cpus := want.all()
	if len(cpus) == 0 {
		return nil, fmt.Errorf("place the softirq of %s: no CPU is named", dev)
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	p := &Placement{Dev: dev, CPUs: cpus, Queues: want.Queues, dev: d, lease: lease.New(lease.Options{})}
	if err := p.place(); err != nil {
		return nil, p.undone(err)
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
		return &fault.Error{Op: fmt.Sprintf("place the softirq of %s: it has no receive queues", p.Dev),
			How: "bring it up, use another interface, or leave out the layout"}
	}
	for _, q := range queuesOf(p.Queues) {
		if _, err := p.dev.Queue(q); err != nil {
			return err
		}
	}
	l := layout{dev: p.Dev, cpus: p.CPUs, queues: p.Queues, irqOf: p.dev.IRQOf, steers: p.steers}
	var wants []lease.Want
	if p.By, wants, err = l.wanted(irqs, queues); err != nil {
		return err
	}
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

// layout is where the softirq of an interface is to run, and what its driver tells.
type layout struct {
	dev    string
	cpus   []int
	queues map[int]int
	irqOf  func(queue int) (int, error)
	steers func(queue string) bool
}

// wanted lists the settings that put the softirq on the CPUs.
func (l layout) wanted(irqs []int, queues []nic.Queue) (by string, out []lease.Want, err error) {
	by = "rps"
	if len(irqs) > 0 {
		by = "irq"
		if out, err = l.interrupts(irqs); err != nil {
			return by, nil, err
		}
	}
	for _, q := range queues {
		name := fmt.Sprintf("rps %d", q.ID)
		cpu, own := l.queues[q.ID]
		switch {
		case by == "rps" && own:
			out = append(out, lease.Want{Dev: l.dev, Name: name, Value: nic.CPUMask(cpu)})
		case by == "rps": // the kernel's hash of a flow chooses one of them
			out = append(out, lease.Want{Dev: l.dev, Name: name, Value: nic.CPUMask(l.cpus...)})
		case l.steers(name):
			out = append(out, lease.Want{Dev: l.dev, Name: name, Value: nowhere})
		}
	}
	return by, out, nil
}

// interrupts puts the interrupt of a queue that has a CPU there, and the others on the CPUs in
// turn, so that none comes elsewhere.
func (l layout) interrupts(irqs []int) (out []lease.Want, err error) {
	own, err := l.own()
	if err != nil {
		return nil, err
	}
	put := func(irq, cpu int) {
		out = append(out, lease.Want{Dev: l.dev, Name: fmt.Sprintf("interrupt %d", irq), Value: fmt.Sprint(cpu)})
	}
	next := 0
	for _, irq := range irqs {
		if cpu, ok := own[irq]; ok {
			put(irq, cpu)
			continue
		}
		put(irq, l.cpus[next%len(l.cpus)])
		next++
	}
	return out, nil
}

// own maps the interrupts of queues that have a CPU of their own to it. Where all have the same,
// there is nothing to be told apart.
func (l layout) own() (map[int]int, error) {
	own, of := map[int]int{}, map[int]int{}
	if len(l.cpus) == 1 {
		return own, nil
	}
	for _, q := range queuesOf(l.queues) {
		irq, err := l.irqOf(q)
		if err != nil {
			return nil, err
		}
		cpu := l.queues[q]
		if was, ok := own[irq]; ok && was != cpu {
			return nil, &fault.Error{
				Op: fmt.Sprintf("place the softirq of %s: RX queues %d and %d share interrupt %d but should be "+
					"on CPUs %d and %d", l.dev, of[irq], q, irq, was, cpu), Err: unix.EBUSY,
				How: "use queues that share none (--queue), name one CPU for all threads, whose softirqs then " +
					"share one, too (--sut-cpu), or leave out --layout"}
		}
		own[irq], of[irq] = cpu, q
	}
	return own, nil
}

// String words what was done, for people.
func (p *Placement) String() string {
	switch p.By {
	case "irq":
		return fmt.Sprintf("the interrupts of %s go to %s", p.Dev, p.cpus())
	case byNAPI:
		return p.polled()
	case byThread:
		return fmt.Sprintf("a kernel thread polls each queue of %s, bound to %s", p.Dev, p.cpus())
	}
	return fmt.Sprintf("RPS sends the packets of %s, which has no interrupts, to %s", p.Dev, p.cpus())
}

// cpus names the CPUs, and those of queues that have one of their own.
func (p *Placement) cpus() string {
	if len(p.CPUs) == 1 {
		return fmt.Sprintf("CPU %d", p.CPUs[0])
	}
	s := "CPUs " + counter.FormatCPUList(p.CPUs)
	for i, q := range queuesOf(p.Queues) {
		word := ", queue"
		if i == 0 {
			word = ": queue"
		}
		s += fmt.Sprintf("%s %d to CPU %d", word, q, p.Queues[q])
	}
	return s
}

// mover says who may have changed what was set.
func (p *Placement) mover() string {
	if p.By == byNAPI {
		return "something else sets the NAPI instances of " + p.Dev + ": find out what (tuned, a network manager)"
	}
	return "something else moves interrupts: systemctl stop irqbalance"
}

// Check finds what somebody else has changed since.
func (p *Placement) Check() error {
	err := p.lease.Verify()
	if m := (*lease.Moved)(nil); errors.As(err, &m) {
		return &fault.Error{Op: err.Error(), How: p.mover()}
	}
	if err == nil {
		err = p.checkThreads()
	}
	return err
}

// Left is a failure after which something could not be taken back, which is worse.
type Left struct{ Why, Left error }

func (e *Left) Error() string { return fault.Reason(e.Why) + "; and after that: " + e.Left.Error() }
func (e *Left) Unwrap() error { return e.Left }

// Fix advises what the user can do about it.
func (e *Left) Fix() string { return cmp.Or(fault.Fix(e.Left), fault.Fix(e.Why)) }

// undone takes back what was done before a failure.
func (p *Placement) undone(why error) error {
	if err := p.Undo(); err != nil {
		return &Left{why, err}
	}
	return why
}

// Undo takes the changes back, the last one first. What somebody else has
// changed since is left alone and is an error.
func (p *Placement) Undo() error {
	err := p.lease.Restore()
	if err != nil {
		kept := "the CPU layout was not kept"
		if p.By == byNAPI {
			kept = "how NAPI polls was not kept"
		}
		err = &fault.Error{Op: kept, Err: err, How: p.mover() + "; " + fault.Fix(err)}
	}
	return errors.Join(err, p.dev.Close())
}
