// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

// start gives a machine that takes a command: one that goes on from where another had
// just booted, or one that boots, and is kept for the next time.
func (p *plan) start(ctx context.Context, log io.Writer) (*machine, error) {
	if p.kept == nil {
		return p.boot(ctx, log)
	}
	if f := p.kept.open(); f != nil {
		m, err := p.tryResume(ctx, f, log)
		f.Close()
		if m != nil || err != nil {
			return m, err
		}
	}
	m, err := p.boot(ctx, log)
	if err != nil || len(m.said.Complaints) > 0 { // they would be in every machine after it
		return m, err
	}
	err = p.kept.keep(m.save)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		m.close()
		return nil, &Error{"boot the guest", context.Cause(ctx), ""}
	}
	fmt.Fprintf(log, "lab: the machine cannot be kept for next time: %v\n", err)
	if m.monitor == nil || m.monitor.running() {
		return m, nil
	}
	m.close()
	return p.boot(ctx, log)
}

// tryResume returns neither machine nor error where the state is of no use.
func (p *plan) tryResume(ctx context.Context, f *os.File, log io.Writer) (*machine, error) {
	m, err := p.resume(ctx, f, log)
	var useless *uselessError
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, &Error{"resume the guest", context.Cause(ctx), ""}
	case !errors.As(err, &useless):
		return nil, err
	}
	fmt.Fprintf(log, "lab: the saved machine is unusable (%v): booting one\n", err)
	if !errors.Is(err, errSlow) { // which is this host's fault
		p.kept.remove(f)
	}
	return nil, nil
}

// uselessError says why a machine did not go on from its state.
type uselessError struct {
	err  error
	said []byte // by QEMU
}

func (e *uselessError) Unwrap() error { return e.err }

func (e *uselessError) Error() string {
	if len(e.said) == 0 {
		return e.err.Error()
	}
	return fmt.Sprintf("%v: %s", e.err, e.said)
}

// resume starts a machine that goes on from the state in the file. QEMU gets it through
// a pipe: newer ones refuse files.
func (p *plan) resume(ctx context.Context, state *os.File, log io.Writer) (*machine, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, &Error{Op: "pipe", Err: err}
	}
	cfg := p.cfg
	cfg.resume = theirs
	m, err := switchOn(ctx, cfg, log)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		io.Copy(ours, state) // QEMU says what is wrong with it
		ours.Close()
	}()
	// Once for what must be new, and once for the time, which has passed meanwhile.
	for _, entropy := range []string{rand.Text(), ""} {
		m.order(guest.Order{Wake: &guest.Wake{Time: time.Now(), Entropy: []byte(entropy)}})
		if err = m.readyWithin(resumePatience); err != nil {
			break
		}
	}
	if err != nil {
		m.close()
		err = &uselessError{err, m.vm.console.lines(1)}
	}
	<-fed
	if err != nil {
		return nil, err
	}
	m.resumed = true
	return m, nil
}

// save writes the state of the machine, which is ready.
func (m *machine) save(to io.Writer) error {
	mon, err := newMonitor(m.vm.monitor)
	if err != nil {
		return err
	}
	m.monitor = mon
	ours, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	_ = ours.SetReadDeadline(time.Now().Add(2 * savePatience)) // QEMU's monitor is first to say what is wrong
	written := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, ours)
		if err != nil {
			ours.Close() // QEMU's next write fails
		}
		written <- err
	}()
	if err = mon.save(theirs); err != nil {
		ours.Close()
	}
	if werr := <-written; werr != nil && !errors.Is(werr, os.ErrClosed) {
		return werr // the cause
	}
	return err
}
