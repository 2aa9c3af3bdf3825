// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
)

// Measured is one run. CPU seconds are per 1e9 bytes of payload that the receiver's interface
// brought.
type Measured struct {
	Gbps     float64 `json:"gbps"`
	CPUPGB   float64 `json:"cpu_s_per_gb"`    // of both ends, with the softirqs outside of both processes
	RxCPUPGB float64 `json:"rx_cpu_s_per_gb"` // of the receiver's process
	TxCPUPGB float64 `json:"tx_cpu_s_per_gb"`
	Foreign  float64 `json:"foreign_cores"` // cores that others kept busy meanwhile
	softirq  softirqs
}

// slack is how much longer than its duration a run may take.
const slack = 15 * time.Second

// trial is one run that is to be.
type trial struct {
	pair *veth.Pair
	c    Contender
	port int
	nice int
	d    time.Duration
}

func (t trial) addr() string { return t.pair.SUT.IPv4.String() }

// measure runs receiver and sender and reads the machine's counters before and after.
func (t trial) measure(ctx context.Context) (Measured, error) {
	link, err := readLink(t.pair.SUT)
	if err != nil {
		return Measured{}, err
	}
	before := readMachine()
	rx, tx, err := t.run(ctx)
	after := readMachine()
	if err != nil {
		return Measured{}, t.failure(ctx, err, rx, tx)
	}
	linkAfter, err := readLink(t.pair.SUT)
	if err != nil {
		return Measured{}, err
	}
	payload := payloadBetween(passed(link, t.c.Both), passed(linkAfter, t.c.Both))
	f, err := t.c.Outcome(rx.stdout.Bytes(), tx.stdout.Bytes())
	if err == nil {
		err = f.check(payload)
	}
	if err == nil {
		err = errors.Join(before.err, after.err)
	}
	if err != nil {
		return Measured{}, t.failure(ctx, err, rx, tx)
	}
	return figures(f, payload, rx.cpu(), tx.cpu(), before, after), nil
}

func figures(f Flow, payload uint64, rx, tx time.Duration, before, after machine) Measured {
	gb, l := float64(payload)/1e9, loadOf(before, after, rx+tx)
	return Measured{Gbps: float64(f.Bytes) * 8 / 1e9 / f.Seconds, CPUPGB: l.total.Seconds() / gb,
		RxCPUPGB: rx.Seconds() / gb, TxCPUPGB: tx.Seconds() / gb, Foreign: l.foreign,
		softirq: softirqs{}.add(counter.SoftirqsBetween(before.softirqs, after.softirqs))}
}

// run starts the receiver in the SUT's namespace and the sender in the TG's, and waits for both.
func (t trial) run(ctx context.Context) (rx, tx *process, err error) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	if rx, tx, err = t.begin(ctx); err != nil {
		cancel() // ends the receiver
		if rx != nil {
			rx.Wait()
		}
		return rx, tx, err
	}
	return rx, tx, t.end(ctx, cancel, rx, tx)
}

// within limits ctx to the time that the run may take.
func (t trial) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t.d+slack, fmt.Errorf("the run did not end within %v", t.d+slack))
}

// begin starts both. A receiver without a sender is for the caller to end, by ctx.
func (t trial) begin(ctx context.Context) (rx, tx *process, err error) {
	if rx, err = t.start(ctx, t.pair.SUT.Netns, t.c.ReceiverCPUs, t.c.Receiver(t.addr(), t.port)); err != nil {
		return nil, nil, err
	}
	tx, err = t.startSender(ctx, rx)
	return rx, tx, err
}

// end waits for both. cancel is that of ctx, which they run by.
func (t trial) end(ctx context.Context, cancel context.CancelFunc, rx, tx *process) error {
	err := tx.Wait()
	switch {
	case err != nil:
		cancel()
		rx.Wait()
	case t.c.Stays:
		cancel()
		rx.Wait()
		return nil
	default:
		// The sender is through: a receiver that does not follow will not.
		stop := time.AfterFunc(5*time.Second, cancel)
		err = rx.Wait()
		stop.Stop()
	}
	if err != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}

func (t trial) start(ctx context.Context, ns *veth.Netns, cpus []int, line []string) (*process, error) {
	return startIn(ctx, ns, t.nice, cpus, line)
}

// startSender starts the sender when the receiver listens. A receiver that ended
// before may have said why: its outcome is the error.
func (t trial) startSender(ctx context.Context, rx *process) (*process, error) {
	if err := rx.listening(ctx, t.port); err != nil {
		if rx.HasEnded() {
			if _, oerr := t.c.Outcome(rx.stdout.Bytes(), rx.stdout.Bytes()); oerr != nil {
				err = oerr
			}
		}
		return nil, fmt.Errorf("receiver: %w", err)
	}
	return t.start(ctx, t.pair.TG.Netns, t.c.SenderCPUs, t.c.Sender(t.addr(), t.port))
}

// failure names the run and adds what its processes said.
func (t trial) failure(ctx context.Context, err error, ps ...*process) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, p := range ps {
		if p != nil && p.says() != "" {
			err = fmt.Errorf("%w; it said: %s", err, p.says())
		}
	}
	return fmt.Errorf("%s: %w", t.c.Name, err)
}
