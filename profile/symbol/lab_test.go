// SPDX-License-Identifier: MIT

package symbol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/zc/labtest"
	"golang.org/x/sys/unix"
)

// parameter sets one of the soft NIC's until the test ends.
func parameter(t *testing.T, name, value string) {
	t.Helper()
	path := "/sys/module/softnic/parameters/" + name
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(value), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(path, old, 0); err != nil {
			t.Error(err)
		}
	})
}

// keepTo keeps this process to a CPU until the test ends. New threads inherit it.
func keepTo(t *testing.T, cpu int) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	one.Set(cpu)
	set := func(to *unix.CPUSet) {
		tasks, err := os.ReadDir("/proc/self/task")
		for _, e := range tasks {
			tid, _ := strconv.Atoi(e.Name())
			if e := unix.SchedSetaffinity(tid, to); e != nil && !errors.Is(e, unix.ESRCH) {
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	set(&one)
	t.Cleanup(func() { set(&all) })
}

// transfer moves so many bytes by TCP from one end of the lab to the other, at most so many a
// second; 0: as fast as it goes.
func transfer(t *testing.T, bytes, pace int) {
	t.Helper()
	l, err := labtest.In(labtest.RXNS, func() (net.Listener, error) {
		var lc net.ListenConfig
		lc.SetMultipathTCP(false)
		return lc.Listen(context.Background(), "tcp", net.JoinHostPort(labtest.Addrs["ipv4"], "0"))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, err := labtest.In(labtest.TXNS, func() (net.Conn, error) {
		return net.DialTimeout("tcp", l.Addr().String(),
			await.Hang)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if pace > 0 {
		mustPace(t, from, pace)
	}
	to, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	end := await.Deadline()
	if err := errors.Join(from.SetDeadline(end), to.SetDeadline(end)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		var err error
		b := make([]byte, 256<<10)
		for left := bytes; left > 0 && err == nil; left -= len(b) {
			_, err = from.Write(b[:min(left, len(b))])
		}
		sent <- errors.Join(err, from.Close())
	}()
	got, b := 0, make([]byte, 256<<10)
	for {
		n, err := to.Read(b)
		if got += n; err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
	}
	if err := <-sent; err != nil || got != bytes {
		t.Fatalf("%d bytes of %d, %v", got, bytes, err)
	}
}

func mustPace(t *testing.T, c net.Conn, bytesPerSecond int) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	if err := raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerSecond)
	}); err != nil || set != nil {
		t.Fatal(err, set)
	}
}

// counted are the soft NIC's counters of receive queues: of all queues of both ends together.
func counted(t *testing.T) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, e := range guest.Ends {
		stats, err := labtest.In(e.NS, func() (map[string]uint64, error) {
			d, err := nic.Open(e.Dev)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			return d.Stats()
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range stats {
			if queue, what, ok := strings.Cut(name, "_"); ok && strings.HasPrefix(queue, "rx") {
				all[what] += v
			}
		}
	}
	return all
}

// sinceTheLast adds samples up, each of which stands for the time since the one before it on its
// CPU. An emulated CPU that others keep from running takes one sample where several were due, and
// the NIC's clock goes on: what it burns meanwhile is burnt.
func sinceTheLast(t *testing.T, r *perf.Recording, fromNs, toNs int64, names profile.Names) *profile.Profile {
	t.Helper()
	b, last, missed := profile.NewBuilder(), map[int]int64{}, 0
	tally, err := r.Each(fromNs, toNs, func(s *perf.Sample) {
		if at := cmp.Or(last[s.CPU], fromNs); s.AtNs > at {
			missed += max(int(uint64(s.AtNs-at)/s.Period)-1, 0)
			s.Period = uint64(s.AtNs - at)
		}
		last[s.CPU] = s.AtNs
		b.Add(s)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Build(names, r.Event)
	p.Tally, p.Hz, p.CPUs, p.WallNs = tally, r.Hz, r.CPUs, toNs-fromNs
	t.Logf("%d samples, and %d that were due and did not come", p.Samples, missed)
	return p
}

// profiled is where the time of CPUs went while something was done, by the samples' own clock. The
// CPUs' accounting says less where softirqs run on an idle CPU: an interrupt that comes meanwhile,
// such as the samples' own, leaves by tick_irq_exit, from where on the kernel counts the rest of
// the softirq as idle (kernel/softirq.c, kernel/time/tick-sched.c: tick_nohz_irq_exit).
func profiled(t *testing.T, cpus []int, do func()) (*profile.Profile, profile.Costs) {
	t.Helper()
	names, s := namer(t), sampler(t, perf.Options{CPUs: cpus, Clock: true})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	from, err := counter.ReadCPU(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	do()
	to, err := counter.ReadCPU(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	p := sinceTheLast(t, r, from.AtNs, to.AtNs, names)
	u := counter.Usage(from, to, cpus)
	if u.BusyCores == nil {
		t.Fatalf("how busy the CPUs were is not known: %q", u.Flags)
	}
	busyNs := *u.BusyCores * u.WallS * 1e9
	if err := p.Check(busyNs); err != nil {
		t.Log(err)
	}
	return p, p.Costs(0)
}

func classNs(c profile.Costs, class profile.Class) float64 {
	for _, k := range c.Classes {
		if k.Class == class {
			return k.Ns
		}
	}
	return 0
}

// A NIC whose poll burns CPU time for each packet has it in class driver, in the function that
// burns it, within 5 % of what the NIC itself has counted by the clock; without, none. What else is
// in the class is no part of that: a busy machine that emulates makes more polls than packets.
func TestLabBurnt(t *testing.T) {
	kind.Timed(t)
	labtest.Need(t)
	long.Test(t)
	const bytes, pace, burnNs, polls = 12 << 20, 2 << 20, 900_000, 1
	keepTo(t, 0)
	parameter(t, "engine_cpus", "0,0")
	parameter(t, "irq_cpus", strings.TrimSuffix(strings.Repeat(strconv.Itoa(polls)+",", 16), ","))
	_, without := profiled(t, []int{polls}, func() { transfer(t, bytes, pace) })
	parameter(t, "burn_ns", fmt.Sprint(burnNs))
	before, after := counted(t), map[string]uint64{}
	p, with := profiled(t, []int{polls}, func() {
		transfer(t, bytes, pace)
		await.Until(t, "all packets are polled", func() bool {
			after = counted(t)
			return after["burnt_packets"]-before["burnt_packets"] >= after["packets"]-before["packets"]
		})
	})
	burnt, packets := float64(after["burnt_ns"]-before["burnt_ns"]), after["burnt_packets"]-before["burnt_packets"]
	if least := float64(packets) * burnNs; burnt < .9*least || packets < bytes/9600 || burnt < .2*with.BusyNs {
		t.Errorf("%.1f ms burnt of %.1f, for %d packets", burnt/1e6, with.BusyNs/1e6, packets)
	}
	t.Logf("class driver: %.1f ms, without %.1f", classNs(with, profile.Driver)/1e6,
		classNs(without, profile.Driver)/1e6)
	in := burntBy(p, with)
	ns := in[profile.Driver]
	t.Logf("sn_burn took %.1f ms in class driver, burnt for %d packets were %.1f ms (%+.1f %%)", ns/1e6, packets,
		burnt/1e6, 100*(ns/burnt-1))
	if math.Abs(ns/burnt-1) > .05 {
		t.Errorf("sn_burn took another time; of all classes %v:\n%+v", in,
			with.Functions[:min(20, len(with.Functions))])
	}
	for _, f := range without.Functions {
		if f.Name == "sn_burn" {
			t.Errorf("%+v, and nothing was to be burnt", f)
		}
	}
}

// burntBy is the time of the function that burns it, with all that it calls, by class.
func burntBy(p *profile.Profile, c profile.Costs) map[profile.Class]float64 {
	in, busy := map[profile.Class]float64{}, 0.0
	for _, s := range p.Stacks {
		if s.Where == profile.Idle {
			continue
		}
		busy += float64(s.Weight)
		if slices.ContainsFunc(s.Frames, func(f profile.Frame) bool {
			return f.Name == "sn_burn" &&
				f.Module == "softnic"
		}) {
			in[s.Class] += float64(s.Weight)
		}
	}
	for class := range in {
		in[class] *= c.BusyNs / busy
	}
	return in
}

// On the lab's kernels too little of a transfer's time has no class.
func TestLabOther(t *testing.T) {
	labtest.Need(t)
	p, c := profiled(t, []int{0, 1}, func() { transfer(t, 48<<20, 0) })
	other := classNs(c, profile.Other) / c.BusyNs
	t.Logf("%.1f %% of %.1f ms", 100*other, c.BusyNs/1e6)
	if other > .05 || p.Samples < 200 {
		t.Errorf("%.1f %% of %d samples have no class, 5 %% may:\n%s", 100*other, p.Samples, unclassed(p))
	}
}

// unclassed are the stacks that have no class, the heaviest first.
func unclassed(p *profile.Profile) string {
	var out strings.Builder
	for _, s := range p.Stacks {
		if s.Class != profile.Other {
			continue
		}
		fmt.Fprintf(&out, "%d %s %s:", s.Count, s.Where, s.Comm)
		for _, f := range s.Frames {
			out.WriteString(" " + f.String())
		}
		out.WriteByte('\n')
	}
	return out.String()
}
