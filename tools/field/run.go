// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan/matrix"
	"golang.org/x/sys/unix"
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

// measured is one run: what happened between two readings of all counters.
type measured struct {
	reading
	seconds float64
	err     error
}

// reading are counters at one moment.
type reading struct {
	at    time.Time
	bytes uint64 // that the NIC wrote into memory of a provider
	app   uint64 // ns of the receiving process
	napi  uint64 // ns of the thread that polls its queue
	all   uint64 // ns of the whole machine: sender and NIC too
}

func (m measured) mbps() float64     { return float64(m.bytes) / 1e6 / m.seconds }
func (m measured) rxPerKB() float64  { return perKB(m.app+m.napi, m.bytes) }
func (m measured) appPerKB() float64 { return perKB(m.app, m.bytes) }
func (m measured) allPerKB() float64 { return perKB(m.all, m.bytes) }

func perKB(ns, bytes uint64) float64 { return float64(ns) / (float64(bytes) / 1e3) }

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
	if err := pollByThread(b.dev); err != nil {
		return nil, err
	}
	var far *nic.Device
	if err = b.tx.Do(func() error { far, err = nic.Open(txEnd.Dev); return err }); err != nil {
		return nil, err
	}
	defer far.Close()
	if err := pollByThread(far); err != nil {
		return nil, err
	}
	runs := map[string][]measured{}
	for _, p := range matrix.Order(len(b.all), 2*b.blocks, false) {
		c, block := b.all[p.At], p.Block/2+1
		m := b.run(ctx, c)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if m.err != nil {
			fmt.Fprintf(os.Stderr, "block %d: %s: %v\n", block, c.name, m.err)
		} else {
			fmt.Fprintf(
				os.Stderr, "block %d: %-22s %7.1f MB/s; ns/kB: process %6.1f, with softirq %6.1f, machine %7.1f\n",
				block, c.name, m.mbps(), m.appPerKB(), m.rxPerKB(), m.allPerKB())
		}
		runs[c.name] = append(runs[c.name], m)
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
	if m.err = b.prepare(c, &changes); m.err != nil {
		return m
	}
	if err := os.WriteFile("/sys/module/softnic/parameters/copybreak", []byte(strconv.Itoa(c.copybreak)),
		0); err != nil {
		return measured{err: err}
	}
	restore, err := b.boundSockets(c.rmem)
	if err != nil {
		return measured{err: err}
	}
	defer func() { m.err = errors.Join(m.err, restore()) }()
	cpu := -1
	if c.pin {
		cpu = rxCPU
	}
	rx, err := startIn(ctx, b.rx, cpu, c.receive, c.mute)
	if err != nil {
		return measured{err: err}
	}
	defer rx.Kill()
	if err := b.await(rx, func() bool { return rx.Listens(c.listens) }); err != nil {
		return measured{err: fmt.Errorf("it does not listen: %w: %s", err, &rx.err)}
	}
	var last *process
	for _, line := range c.send {
		if last, err = startIn(ctx, b.tx, -1, line, false); err != nil {
			return measured{err: err}
		}
		defer last.Kill()
		time.Sleep(200 * time.Millisecond)
	}
	if err := b.await(last, func() bool { return b.received() > 0 && !rx.HasEnded() }); err != nil {
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
	e, err := b.readTwice(rx)
	if err != nil {
		return measured{err: err}
	}
	m := measured{seconds: e[1].at.Sub(e[0].at).Seconds(),
		reading: reading{bytes: e[1].bytes - e[0].bytes, app: e[1].app - e[0].app, napi: e[1].napi - e[0].napi,
			all: e[1].all - e[0].all}}
	if m.bytes == 0 || m.app == 0 || m.napi == 0 || rx.HasEnded() || tx.HasEnded() {
		m.err = fmt.Errorf("%d bytes, %d ns of CPU time of the receiver and %d of its queue in %.1f s: %s%s", m.bytes,
			m.app, m.napi, m.seconds, &rx.err, &tx.err)
	}
	return m
}

// readTwice reads all counters at the window's edges, each time at a priority
// that lets nothing else of this CPU run in between.
func (b *bench) readTwice(rx *process) (e [2]reading, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := urgent(true); err != nil {
		return e, err
	}
	defer urgent(false)
	family := rx.family()
	poller, err := b.dev.NAPIOf(queue)
	if err != nil {
		return e, err
	}
	for i := range e {
		if i == 1 {
			time.Sleep(b.window)
		}
		e[i] = reading{at: time.Now(), bytes: b.received(), app: cpuNs(family...), napi: cpuNs(poller.PID),
			all: allCPUNs()}
	}
	return e, nil
}

// urgent gives the calling thread, not its children, priority over everything
// else, or takes that back.
func urgent(yes bool) error {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if yes {
		a.Policy, a.Priority, a.Flags = unix.SCHED_FIFO, 50, unix.SCHED_FLAG_RESET_ON_FORK
	}
	if err := unix.SchedSetAttr(0, &a, 0); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// pollByThread makes a thread poll each queue of a device, so that softirq is not charged to
// whichever task it interrupts. The guest does not outlive us.
func pollByThread(d *nic.Device) error {
	all, err := d.NAPIs()
	if err != nil {
		return err
	}
	for _, n := range all {
		n.Threaded = "on"
		if err := d.SetNAPI(n.ID, n.NAPISettings); err != nil {
			return err
		}
	}
	return nil
}

// prepare does what a program leaves to its user.
func (b *bench) prepare(c contender, l *lease.Changes) error {
	if c.prepare == preparesAll {
		return nil
	}
	if err := l.SplitHeaders(b.dev); err != nil || c.prepare == expectsSplit {
		return err
	}
	if err := l.KeepFree(b.dev, queue); err != nil {
		return err
	}
	at := func(addr string, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(addr), port)
	}
	return l.Steer(b.dev, at(rxAddr, port), at(txAddr, fromPort), queue)
}

// boundSockets bounds what the receiver's socket may hold; 0 leaves it as it is.
func (b *bench) boundSockets(most int) (restore func() error, err error) {
	const name = "net.ipv4.tcp_rmem"
	restore = func() error { return nil }
	if most == 0 {
		return restore, nil
	}
	var fs tune.FS
	err = b.rx.Do(func() error {
		old, err := fs.Sysctl(name)
		if err != nil {
			return err
		}
		restore = func() error { return b.rx.Do(func() error { return fs.SetSysctl(name, old) }) }
		f := strings.Fields(old)
		return fs.SetSysctl(name, fmt.Sprintf("%s %s %d", f[0], f[1], most))
	})
	return restore, err
}

// received sums the payload bytes that the NIC has written into memory of a provider, whatever
// queue that has.
func (b *bench) received() (n uint64) {
	all, _ := b.dev.Stats()
	for q := range 8 {
		n += all[fmt.Sprintf("rx%d_provider_bytes", q)]
	}
	return n
}

// await waits for a condition while a process lives.
func (b *bench) await(p *process, ok func() bool) error {
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if p.HasEnded() {
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
