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

// Measured is one run.
type Measured struct {
	Gbps     float64 `json:"gbps"`
	RxCPUPGB float64 `json:"rx_cpu_s_per_gb"` // CPU seconds of the receiver's process per 1e9 bytes
	TxCPUPGB float64 `json:"tx_cpu_s_per_gb"`
	Foreign  float64 `json:"foreign_cores"` // cores that others kept busy meanwhile
	softirq  softirqs
}

// slack is how much longer than its duration a run may take.
const slack = 15 * time.Second

// measure runs one flow: receiver in the SUT's namespace, sender in the TG's.
func measure(ctx context.Context, pair *veth.Pair, c Contender, port, nice int, d time.Duration) (Measured, error) {
	parent := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, d+slack, fmt.Errorf("the run did not end within %v", d+slack))
	defer cancel()
	addr := pair.SUT.IPv4.String()
	rx, err := startIn(ctx, pair.SUT.Netns, nice, c.Receiver(addr, port))
	if err != nil {
		return Measured{}, err
	}
	before := readMachine()
	tx, err := startSender(ctx, pair, c, rx, addr, port, nice)
	if err != nil {
		cancel() // ends the receiver
		rx.Wait()
		return Measured{}, failure(parent, c, err, rx, nil)
	}
	if err = tx.Wait(); err == nil {
		// The sender is through: a receiver that does not follow will not.
		stop := time.AfterFunc(5*time.Second, cancel)
		err = rx.Wait()
		stop.Stop()
	} else {
		cancel()
		rx.Wait()
	}
	after := readMachine()
	if err != nil {
		return Measured{}, failure(parent, c, errors.Join(err, context.Cause(ctx)), rx, tx)
	}
	f, err := c.Outcome(rx.stdout.Bytes(), tx.stdout.Bytes())
	if err != nil {
		return Measured{}, failure(parent, c, err, rx, tx)
	}
	gb := float64(f.Bytes) / 1e9
	m := Measured{Gbps: gb * 8 / f.Seconds, RxCPUPGB: rx.cpu().Seconds() / gb, TxCPUPGB: tx.cpu().Seconds() / gb}
	if before.err == nil && after.err == nil {
		m.softirq = softirqs{}.add(counter.SoftirqsBetween(before.softirqs, after.softirqs))
		m.Foreign = foreignCores(before, after, rx.cpu()+tx.cpu())
	}
	return m, nil
}

// startSender starts the sender when the receiver listens. A receiver that ended
// before may have said why: its outcome is the error.
func startSender(ctx context.Context, pair *veth.Pair, c Contender, rx *process, addr string, port, nice int) (*process, error) {
	if err := rx.listening(ctx, port); err != nil {
		if rx.HasEnded() {
			if _, oerr := c.Outcome(rx.stdout.Bytes(), rx.stdout.Bytes()); oerr != nil {
				err = oerr
			}
		}
		return nil, fmt.Errorf("receiver: %w", err)
	}
	return startIn(ctx, pair.TG.Netns, nice, c.Sender(addr, port))
}

// failure names the run and adds what its processes said.
func failure(ctx context.Context, c Contender, err error, ps ...*process) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, p := range ps {
		if p != nil && p.says() != "" {
			err = fmt.Errorf("%w; it said: %s", err, p.says())
		}
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}
