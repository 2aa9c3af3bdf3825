// SPDX-License-Identifier: MIT

package bpf_test

import (
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

// polledPair is two hosts of which the receiver's interface has a queue to poll, and what tells who
// does.
func polledPair(t testing.TB) (*veth.Pair, *bpf.Tasks) {
	t.Helper()
	p := newPair(t)
	if !inLab() {
		vethtest.GRO(t, p.SUT, true)
		vethtest.NoTSO(t, p.TG)
	}
	return p, openTasks(t, bpf.TasksOptions{Ifindexes: []int{indexOf(t, p.SUT)},
		Netns: uint32(in(t, p.SUT.Netns, bpf.NetnsInode)), OthersForeign: true})
}

// polledSince adds up who polled since a reading, on all CPUs.
func polledSince(t testing.TB, tasks *bpf.Tasks, from *counter.TaskTimes) (by [counter.NAPIPollers]counter.NAPIPolls) {
	t.Helper()
	for _, d := range readTasks(t, tasks).Since(from) {
		for who, n := range d.NAPI {
			by[who].Polls, by[who].Packets = by[who].Polls+n.Polls, by[who].Packets+n.Packets
			by[who].Empty, by[who].SpinNs = by[who].Empty+n.Empty, by[who].SpinNs+n.SpinNs
		}
	}
	return by
}

// Who polls, of packets that go to and fro: softirq, a thread of ours whose call waits and polls
// meanwhile, a kernel thread. Polls that found nothing are told apart, and the packets are those
// that came. It is a veth that has a queue to poll, or the lab's NIC, which counts its interrupts,
// too: there are few of them where the call polls.
func TestIntegrationWhoPolls(t *testing.T) {
	kind.Timed(t) // there must be a CPU for each end: a call that polls keeps the other from it
	p, tasks := polledPair(t)
	const asks = 300
	var irqs uint64 // of the queue of the last trips
	polls := func(busyPoll time.Duration) (by [counter.NAPIPollers]counter.NAPIPolls, packets uint64) {
		rx, tx := connect(t, p)
		defer rx.Close()
		defer tx.Close()
		counted := queues(t, p.SUT)
		from, read := readTasks(t, tasks), received(t, p.SUT)
		began := time.Now()
		trips(t, rx, tx, asks, busyPoll)
		wall := time.Since(began)
		by = polledSince(t, tasks, from)
		packets = received(t, p.SUT) - read
		irqs = interrupts(counted, queues(t, p.SUT))
		t.Logf("%d packets, %d interrupts: %+v", packets, irqs, by)
		if app := by[counter.NAPIApp]; app.SpinNs < 0 || app.SpinNs > int64(wall) {
			t.Errorf("it spun for %d ns of %v", app.SpinNs, wall)
		}
		return by, packets
	}
	all := func(by [counter.NAPIPollers]counter.NAPIPolls) (n uint64) {
		for _, x := range by {
			n += x.Packets
		}
		return n
	}

	by, packets := polls(0)
	softirq := by[counter.NAPISoftirq].Packets + by[counter.NAPIKsoftirqd].Packets
	if softirq < asks || softirq != all(by) || softirq > packets || by[counter.NAPIApp].Polls > 0 {
		t.Errorf("without busy polling softirq polled %d of %d packets: %+v", softirq, packets, by)
	}
	before := irqs
	if inLab() { // else each packet raises an interrupt all the same, and softirq finds that somebody polls
		setEach(t, p.SUT, func(s *nic.NAPISettings) { s.DeferHardIRQs, s.GROFlushTimeoutNs = 100, 20e6 })
	}
	by, packets = polls(10 * time.Millisecond)
	if inLab() && (before < asks/2 || irqs > before/10) {
		t.Errorf("%d interrupts without busy polling, %d with it", before, irqs)
	}
	if app := by[counter.NAPIApp]; app.Packets < asks/10 || app.Empty == 0 || app.SpinNs == 0 || all(by) > packets {
		t.Errorf("the call that waits polled %+v of %d packets", app, packets)
	}
	setEach(t, p.SUT, func(s *nic.NAPISettings) {
		s.DeferHardIRQs, s.GROFlushTimeoutNs = 0, 0
		s.Threaded = "on"
	})
	by, packets = polls(0)
	if thread := by[counter.NAPIThread].Packets; thread < asks || thread > packets || by[counter.NAPIApp].Polls > 0 {
		t.Errorf("the kernel's thread polled %d of %d packets: %+v", thread, packets, by)
	}
}

// A thread that polls in vain, again and again, spins. What it does between such polls is work.
func TestIntegrationWorkIsNoSpinning(t *testing.T) {
	kind.Timed(t)
	p, tasks := polledPair(t)
	rx, tx := connect(t, p)
	defer rx.Close()
	defer tx.Close()
	trips(t, rx, tx, 1, 10*time.Millisecond) // the socket knows its queue
	raw, err := rx.File()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	const turns, work = 500, 100 * time.Microsecond
	spun := func(work time.Duration) counter.NAPIPolls {
		defer pin(t, true)()
		from := readTasks(t, tasks)
		for range turns {
			if _, _, err := unix.Recvfrom(int(raw.Fd()), make([]byte, 1), unix.MSG_DONTWAIT); err != unix.EAGAIN {
				t.Fatal(err)
			}
			for began := time.Now(); time.Since(began) < work; {
			}
		}
		app := polledSince(t, tasks, from)[counter.NAPIApp]
		t.Logf("with %v between polls: %+v", work, app)
		return app
	}
	if app := spun(0); app.Empty < turns || app.SpinNs < turns/10*100 {
		t.Errorf("polls in a row: %+v", app)
	}
	if app := spun(work); app.Empty < turns || app.SpinNs > int64(turns*work/20) {
		t.Errorf("with work between polls it spun for %d ns, of %v", app.SpinNs, turns*work)
	}
}

// trips sends n bytes one by one, each after the answer to the one before. rx is read by calls that
// wait in the kernel, and poll for so long there.
func trips(t testing.TB, rx, tx net.Conn, n int, poll time.Duration) {
	t.Helper()
	raw, err := rx.(*net.TCPConn).File() // of its own, which blocks
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	fd := int(raw.Fd())
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	for opt, v := range map[int]int{unix.SO_BUSY_POLL: int(poll.Microseconds()), unix.SO_PREFER_BUSY_POLL: 1} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, opt, v); err != nil && poll > 0 {
			t.Skip(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		defer pin(t, true)()
		b := make([]byte, 1)
		for range n {
			if _, err := syscall.Read(fd, b); err != nil {
				done <- err
				return
			}
			if _, err := syscall.Write(fd, b); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	defer pin(t, false)()
	b := make([]byte, 1)
	for range n {
		if _, err := tx.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// pin gives the calling goroutine the last CPU, or all others, up to undo.
func pin(t testing.TB, last bool) (undo func()) {
	runtime.LockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil || before.Count() < 2 {
		t.Logf("not pinned: %d CPUs, %v", before.Count(), err)
		return runtime.UnlockOSThread
	}
	cpu := lastCPU(t)
	if set = before; last {
		set.Zero()
		set.Set(cpu)
	} else {
		set.Clear(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		t.Log(err)
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	}
}

// setEach sets all NAPI instances of an end, until the test ends.
func setEach(t testing.TB, e veth.End, change func(*nic.NAPISettings)) {
	t.Helper()
	lacks := ""
	err := e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		t.Cleanup(func() { d.Close() })
		all, err := d.NAPIs()
		for _, n := range all {
			s := n.NAPISettings
			if s.Threaded == "" {
				lacks = "this kernel does not set NAPI instances so (6.17)"
				return nil
			}
			change(&s)
			if err := d.SetNAPI(n.ID, s); err != nil {
				return err
			}
			t.Cleanup(func() { _ = d.SetNAPI(n.ID, n.NAPISettings) })
		}
		return err
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case lacks != "":
		t.Skip(lacks)
	}
}

// queues reads the counters of the lab's NIC; a veth has none of interrupts.
func queues(t testing.TB, e veth.End) map[string]uint64 {
	t.Helper()
	return in(t, e.Netns, func() (map[string]uint64, error) {
		if !inLab() {
			return nil, nil
		}
		d, err := nic.Open(e.Dev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.Stats()
	})
}

// interrupts counts those of the queue that most packets came by: others may have those of what was
// sent, by a NAPI that nobody else polls.
func interrupts(from, to map[string]uint64) (n uint64) {
	most := uint64(0)
	for name, v := range to {
		if packets := v - from[name]; nic.Called(name, "rx*_packets") && packets > most {
			of := strings.TrimSuffix(name, "packets") + "interrupts"
			most, n = packets, to[of]-from[of]
		}
	}
	return n
}

// received counts the packets that came to an end.
func received(t testing.TB, e veth.End) uint64 {
	t.Helper()
	return in(t, e.Netns, func() (uint64, error) {
		l, err := counter.ReadLink(e.Dev)
		if err != nil {
			return 0, err
		}
		return l.Stats.RxPackets, nil
	})
}
