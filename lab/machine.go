// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

const (
	// bootPatience is how long the guest may take to be ready: emulated, with clocks
	// that count instructions, on a busy machine.
	bootPatience = 5 * time.Minute
	// resumePatience is the same for one that goes on from a kept state.
	resumePatience = time.Minute
	// endPatience is how long it may take to end a command whose time is up, to take
	// everything down and to report.
	endPatience = 90 * time.Second
)

// errSlow says that the guest had to be killed because it took too long.
var errSlow = errors.New("no answer in time; it was killed")

// machine is a guest that takes one command after another.
type machine struct {
	vm      *vm
	kill    context.CancelCauseFunc
	ctx     context.Context // ends with kill
	kmsg    *tail
	reports chan guest.Report // closed when the guest is gone
	said    guest.Ready       // the last
	n       int               // commands so far
	monitor *monitor          // nil until it is needed
	resumed bool              // it went on from a kept state
	log     io.Writer
}

// boot starts the machine and waits until it takes a command.
func (p *plan) boot(ctx context.Context, log io.Writer) (*machine, error) {
	if p.booting != nil {
		p.booting(p.what.Release, p.cfg.kvm)
	}
	cfg := p.cfg
	cfg.monitored = p.kept != nil
	m, err := switchOn(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	if err := m.ready(); err != nil {
		if ctx.Err() == nil {
			m.dump(log)
		}
		m.close()
		return nil, &Error{"boot the guest", err, "see the kernel messages above"}
	}
	return m, nil
}

// switchOn starts QEMU and listens to the guest.
func switchOn(ctx context.Context, cfg vmConfig, log io.Writer) (*machine, error) {
	m := &machine{kmsg: newTail(64 << 10), reports: make(chan guest.Report), log: log}
	m.ctx, m.kill = context.WithCancelCause(ctx)
	cfg.log = log
	var err error
	if m.vm, err = startVM(m.ctx, cfg); err != nil {
		m.kill(nil)
		return nil, err
	}
	go io.Copy(m.kmsg, m.vm.ports[guest.PortKmsg])
	go m.follow()
	return m, nil
}

// follow reads what the guest reports.
func (m *machine) follow() {
	defer close(m.reports)
	r := bufio.NewReader(m.vm.ports[guest.PortControl])
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var rep guest.Report
		if json.Unmarshal(line, &rep) != nil {
			return
		}
		select {
		case m.reports <- rep:
		case <-m.vm.done:
			// Nobody waits, or soon: what was said before the end counts.
			select {
			case m.reports <- rep:
			case <-time.After(time.Second):
			}
		}
	}
}

// ready waits until the machine takes a command.
func (m *machine) ready() error { return m.readyWithin(bootPatience) }

func (m *machine) readyWithin(patience time.Duration) error {
	limit := time.AfterFunc(patience, func() { m.kill(errSlow) })
	defer limit.Stop()
	rep, ok := <-m.reports
	switch {
	case !ok:
		return m.death()
	case rep.Ready == nil:
		return errors.New("it reports what was not requested")
	case rep.Ready.Err != "":
		return errors.New(rep.Ready.Err)
	}
	m.said = *rep.Ready
	return nil
}

// death waits for the end of the machine and says why it died.
func (m *machine) death() error {
	select {
	case <-m.vm.done:
	case <-time.After(10 * time.Second):
		m.kill(errors.New("it closed its channels"))
		<-m.vm.done
	}
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	return fmt.Errorf("it exited without a report (qemu: %v)", status(m.vm.err))
}

// run runs one command. The end of ctx ends the machine.
func (m *machine) run(ctx context.Context, r *request) outcome {
	m.n++
	r.job.N, r.job.Mark = m.n, rand.Text()
	defer context.AfterFunc(ctx, func() { m.kill(context.Cause(ctx)) })()
	limit := time.AfterFunc(r.timeout, func() { m.order(guest.Order{Timeout: r.job.N}) })
	defer limit.Stop()
	hard := time.AfterFunc(r.timeout+endPatience, func() { m.kill(errSlow) })
	defer hard.Stop()

	m.order(guest.Order{Job: &r.job})
	var wg sync.WaitGroup
	var outErr error
	sent := make(chan struct{})
	go func() { m.send(r); close(sent) }()
	wg.Go(func() { copyToMark(r.stdout, m.vm.ports[guest.PortStdout], r.job.Mark) })
	wg.Go(func() { copyToMark(r.stderr, m.vm.ports[guest.PortStderr], r.job.Mark) })
	wg.Go(func() { outErr = drain(guest.NewChunkReader(m.vm.ports[guest.PortOut]), r.receive) })
	var gone error
	rep, ok := <-m.reports
	if !ok {
		gone = m.death()
	} else if rep.Result == nil {
		gone = errors.New("it reports what was not requested")
		m.kill(gone)
	}
	if gone == nil {
		<-sent
	} else if r.hurry != nil {
		r.hurry()
	}
	wg.Wait() // the machine is gone, or has sent the end of each
	out := judge(r, rep.Result, gone)
	if out.spoiled != "" {
		m.tell(r.log, rep.Result)
	}
	if out.err == nil && outErr != nil {
		out = outcome{ExitTrouble, &Error{"fetch the guest's files", outErr, ""}, "its files were not sent back"}
	}
	return out
}

// alive reports whether the machine still runs.
func (m *machine) alive() bool {
	select {
	case <-m.vm.done:
		return false
	default:
		return true
	}
}

// order sends the guest an order. It ignores errors: a guest that is gone shows in what it does not
// report.
func (m *machine) order(o guest.Order) {
	if b, err := json.Marshal(o); err == nil {
		m.vm.ports[guest.PortControl].Write(append(b, '\n'))
	}
}

// send sends the command's files; what cannot be sent the guest is told.
func (m *machine) send(r *request) {
	w := guest.NewChunkWriter(m.vm.ports[guest.PortIn])
	if err := r.send(w); err != nil {
		fmt.Fprintln(r.log, "lab:", err)
		w.Abort()
		return
	}
	w.Close()
}

// drain gives what r brings to take, and reads it to its end in any case.
func drain(r io.Reader, take func(io.Reader) error) error {
	err := take(r)
	if _, derr := io.Copy(io.Discard, r); err == nil {
		err = derr
	}
	return err
}

// tell prints what the kernel has said.
func (m *machine) tell(log io.Writer, res *guest.Result) {
	m.dump(log)
	if res == nil {
		return
	}
	for _, c := range res.Complaints {
		fmt.Fprintln(log, "lab: kernel:", c)
	}
}

// dump prints the end of the kernel's messages and of the serial console.
func (m *machine) dump(log io.Writer) {
	fmt.Fprintf(log, "lab: --- last kernel messages ---\n%s\nlab: --- console ---\n%s\nlab: ---\n",
		m.kmsg.lines(60), m.vm.console.lines(60))
}

// close ends the machine. Nothing in it is worth a shutdown.
func (m *machine) close() {
	m.kill(nil)
	<-m.vm.done
	m.vm.closePorts()
	for range m.reports { // its reader ends
	}
}

func status(err error) string {
	if err == nil {
		return "ended normally"
	}
	return err.Error()
}
