package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/lease"
	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/veth"
)

// bench are the choices and the two ends.
type bench struct {
	bin, programs string
	blocks        int
	window        time.Duration
	all           []contender
	rx, tx        *veth.Netns
	dev           *nic.Device
}

// measured is one run.
type measured struct {
	bytes   uint64 // into memory of a provider
	seconds float64
	cpuNs   uint64 // of the receiving process
	softNs  uint64 // softirq of the receiver's CPU
	err     error
}

func (m measured) mbps() float64    { return float64(m.bytes) / 1e6 / m.seconds }
func (m measured) nsPerKB() float64 { return float64(m.cpuNs) / (float64(m.bytes) / 1e3) }

// patience bounds every wait of a run.
const patience = 20 * time.Second

// play makes all runs: in each block every contender once, and once more in
// reverse order.
func (b *bench) play(ctx context.Context) (map[string][]measured, error) {
	var err error
	if b.rx, err = veth.OpenNetns("/run/netns/" + rxEnd.NS); err != nil {
		return nil, err
	}
	if b.tx, err = veth.OpenNetns("/run/netns/" + txEnd.NS); err != nil {
		return nil, err
	}
	if err = b.rx.Do(func() error { b.dev, err = nic.Open(rxEnd.Dev); return err }); err != nil {
		return nil, err
	}
	defer b.dev.Close()
	order := slices.Clone(b.all)
	reverse := slices.Clone(b.all)
	slices.Reverse(reverse)
	runs := map[string][]measured{}
	for block := range b.blocks {
		for _, c := range append(order, reverse...) {
			m := b.run(ctx, c)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if m.err != nil {
				fmt.Fprintf(os.Stderr, "block %d: %s: %v\n", block+1, c.name, m.err)
			} else {
				fmt.Fprintf(os.Stderr, "block %d: %-14s %7.1f MB/s %8.1f ns/kB, softirq %5.1f ns/kB\n", block+1, c.name, m.mbps(), m.nsPerKB(), float64(m.softNs)/(float64(m.bytes)/1e3))
			}
			runs[c.name] = append(runs[c.name], m)
		}
	}
	return runs, nil
}

// run makes one run.
func (b *bench) run(ctx context.Context, c contender) (m measured) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var changes lease.Changes
	// When the receiver is dead, the kernel frees its queue in its own time.
	// So it does its sockets, which keep the next one from its port.
	defer func() {
		m.err = errors.Join(m.err, b.awaitFree(), changes.Undo())
		time.Sleep(time.Second)
	}()
	if c.prepare {
		if m.err = b.prepare(&changes); m.err != nil {
			return m
		}
	}
	cpu := -1
	if c.pin {
		cpu = rxCPU
	}
	rx, err := startIn(ctx, b.rx, cpu, c.receive)
	if err != nil {
		return measured{err: err}
	}
	defer rx.kill()
	if err := b.await(rx, func() bool { return rx.listens(c.listens) }); err != nil {
		return measured{err: fmt.Errorf("it does not listen: %w: %s", err, &rx.err)}
	}
	var last *process
	for _, line := range c.send {
		if last, err = startIn(ctx, b.tx, -1, line); err != nil {
			return measured{err: err}
		}
		defer last.kill()
		time.Sleep(200 * time.Millisecond)
	}
	if err := b.await(last, func() bool { return b.received() > 0 && !rx.ended() }); err != nil {
		return measured{err: fmt.Errorf("%w: %s%s", err, &rx.err, &last.err)}
	}
	return b.measure(rx, last)
}

// measure reads all counters twice.
func (b *bench) measure(rx, tx *process) measured {
	start := b.received()
	if err := b.await(tx, func() bool { return b.received() > start+(8<<20) }); err != nil {
		return measured{err: fmt.Errorf("nothing flows into memory of a provider: %w: %s%s", err, &rx.err, &tx.err)}
	}
	time.Sleep(200 * time.Millisecond)
	var e [2]struct {
		at               time.Time
		bytes, cpu, soft uint64
	}
	for i := range e {
		if i == 1 {
			time.Sleep(b.window)
		}
		e[i].at, e[i].bytes, e[i].cpu, e[i].soft = time.Now(), b.received(), rx.cpuNs(), softNs()
	}
	m := measured{bytes: e[1].bytes - e[0].bytes, cpuNs: e[1].cpu - e[0].cpu, softNs: e[1].soft - e[0].soft, seconds: e[1].at.Sub(e[0].at).Seconds()}
	if m.bytes == 0 || m.cpuNs == 0 || rx.ended() || tx.ended() {
		m.err = fmt.Errorf("%d bytes and %d ns of CPU time in %.1f s: %s%s", m.bytes, m.cpuNs, m.seconds, &rx.err, &tx.err)
	}
	return m
}

// prepare does what most programs leave to their user.
func (b *bench) prepare(c *lease.Changes) error {
	if err := c.SplitHeaders(b.dev); err != nil {
		return err
	}
	if err := c.KeepFree(b.dev, queue); err != nil {
		return err
	}
	at := func(addr string, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(addr), port)
	}
	return c.Steer(b.dev, at(rxAddr, port), at(txAddr, fromPort), queue)
}

// received are the payload bytes that the NIC has written into memory of a
// provider, whatever queue that has.
func (b *bench) received() (n uint64) {
	all, _ := b.dev.Stats()
	for q := range 8 {
		n += all[fmt.Sprintf("rx%d_provider_bytes", q)]
	}
	return n
}

// softNs is the softirq time of the receiver's CPU, in ticks of 10 ms.
func softNs() uint64 {
	s, err := counter.ReadCPU(counter.FS{})
	if err != nil {
		return 0
	}
	for _, c := range s.CPUs {
		if c.CPU == rxCPU {
			return (c.IRQ + c.SoftIRQ) * 10_000_000
		}
	}
	return 0
}

// await waits for a condition while a process lives.
func (b *bench) await(p *process, ok func() bool) error {
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if p.ended() {
			return errors.New("it ended")
		}
		if time.Now().After(end) {
			return fmt.Errorf("nothing for %v", patience)
		}
	}
	return nil
}

// awaitFree waits until no queue has a provider.
func (b *bench) awaitFree() error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		all, err := b.dev.Queues()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(q nic.Queue) bool { return q.Provider != nic.ProviderNone }) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("a queue is still bound after %v", patience)
		}
	}
}
