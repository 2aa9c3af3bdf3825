// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/profile/perf"
)

// named gives addresses below 1000 the names of this list, of the kernel; others are the user's.
type named []string

func (n named) Kernel(a uint64, _ bool) Frame {
	name, module, _ := strings.Cut(n[a], "@")
	return Frame{Name: name, Module: module, Kernel: true}
}

func (n named) User(_ int, a uint64, _ bool) Frame { return Frame{Name: n[a], Module: "app"} }

func (n named) Comm(pid int) string { return fmt.Sprintf("app%d", pid) }

// stacked adds samples of stacks of names, the innermost first, "|" before the user's.
type stacked struct {
	names named
	b     *Builder
}

func (s *stacked) add(pid int, period uint64, stack string) {
	kernel, user, _ := strings.Cut(stack, "|")
	x := perf.Sample{PID: pid, Period: period}
	for _, p := range []struct {
		text string
		to   *[]uint64
	}{{kernel, &x.Kernel}, {user, &x.User}} {
		for w := range strings.FieldsSeq(p.text) {
			*p.to = append(*p.to, uint64(len(s.names)))
			s.names = append(s.names, w)
		}
	}
	s.b.Add(&x)
}

func built(event perf.Event, stacks ...string) *Profile {
	s := stacked{b: NewBuilder()}
	for _, line := range stacks {
		var pid, period int
		var rest string
		f := strings.SplitN(line, " ", 3)
		fmt.Sscan(f[0], &pid)
		fmt.Sscan(f[1], &period)
		if len(f) > 2 {
			rest = f[2]
		}
		s.add(pid, uint64(period), rest)
	}
	return s.b.Build(s.names, event)
}

var clock = perf.Event{Name: "cpu-clock", Nanoseconds: true}

const syscallTail = " tcp_recvmsg inet_recvmsg __sys_recvfrom do_syscall_64 entry_SYSCALL_64_after_hwframe | read main"

// receiver is a receiver's CPU: 100 ns of each period.
func receiver() *Profile {
	return built(clock,
		"7 300 rep_movs_alternative _copy_to_iter __skb_datagram_iter tcp_recvmsg_locked"+syscallTail,
		"7 100 rep_movs_alternative _copy_to_iter __skb_datagram_iter tcp_recvmsg_locked"+syscallTail,
		"7 100 tcp_v4_rcv ip_rcv __netif_receive_skb __napi_poll net_rx_action handle_softirqs irq_exit_rcu "+
			"common_interrupt asm_common_interrupt _copy_to_iter"+syscallTail,
		"7 100 handle_edge_irq common_interrupt asm_common_interrupt | work main",
		"7 100 | work main",
		"0 900 pv_native_safe_halt default_idle do_idle cpu_startup_entry",
		"0 50 __tcp_transmit_skb tcp_send_ack handle_softirqs do_softirq do_idle",
		"0 50 finish_task_switch.isra.0 __schedule schedule tcp_wait | [x] y",
	)
}

// Softirqs and interrupts are not the thread's that they interrupted, and all own times together
// are the busy time.
func TestCosts(t *testing.T) {
	p := receiver()
	c := p.Costs(1600) // twice what was sampled
	self := 0.0
	byName := map[string]function{}
	for _, f := range c.Functions {
		self += f.SelfNs
		byName[f.Name+"/"+string(f.Where)] = f
	}
	classes := 0.0
	byClass := map[Class]float64{}
	for _, k := range c.Classes {
		classes += k.Ns
		byClass[k.Class] = k.Ns
	}
	if c.BusyNs != 1600 || math.Abs(self-1600) > 1e-9 || math.Abs(classes-1600) > 1e-9 {
		t.Errorf("busy %v, functions %v, classes %v", c.BusyNs, self, classes)
	}
	for class, want := range map[Class]float64{Copy: 800, TCP: 200, Driver: 200, Application: 200, tx: 100,
		IRQOffEnd: 100} {
		if byClass[class] != want {
			t.Errorf("%s: %v ns, want %v", class, byClass[class], want)
		}
	}
	for name, want := range map[string][2]float64{"rep_movs_alternative/thread": {800, 800},
		"tcp_recvmsg/thread": {0, 800}, "main/thread": {0, 1000}, "tcp_v4_rcv/softirq": {200, 200},
		"handle_softirqs/softirq": {0, 300}, "common_interrupt/interrupt": {0, 200}, "common_interrupt/softirq": {0, 0},
		"work/thread": {200, 200}} {
		if f := byName[name]; f.SelfNs != want[0] || f.TotalNs != want[1] {
			t.Errorf("%s: self %v, total %v, want %v", name, f.SelfNs, f.TotalNs, want)
		}
	}
	if c := p.Costs(0); c.BusyNs != 800 {
		t.Errorf("busy %v by samples, want 800", c.BusyNs)
	}
	if len((&Profile{}).Costs(100).Functions) != 0 {
		t.Error("a profile of nothing has functions")
	}
}

// A function that calls itself counts once in a stack.
func TestRecursion(t *testing.T) {
	c := built(clock, "7 100 | fib fib fib main").Costs(0)
	for _, f := range c.Functions {
		if f.TotalNs != 100 {
			t.Errorf("%s: %v ns", f.Name, f.TotalNs)
		}
	}
}

// The samples are held against the accounting of the same time, to two points of the wall clock.
func TestCheck(t *testing.T) {
	p := receiver() // 800 busy of 1700
	p.WallNs, p.CPUs = 850, []int{0, 1}
	for busy, ok := range map[float64]bool{800: true, 830: true, 770: true, 840: false, 760: false} {
		if err := p.Check(busy); (err == nil) != ok {
			t.Errorf("%v: %v", busy, err)
		}
	}
}

var cycles = perf.Event{Name: "cycles", NMI: true}

// Cycles are a time where it is known how fast the CPUs ran: each sample by the cycles that it
// stands for, of which the kernel takes few at first and where there is little to do; and held
// against the accounting as the clock's samples are. Where it is not known nothing is said.
func TestCycles(t *testing.T) {
	// 3,004,000 cycles
	p := built(cycles, "7 1 | work main", "7 60 | work main", "7 4000 | work main", "7 2999939 | work main",
		"7 996000 tcp_v4_rcv ip_rcv handle_softirqs | work main", "0 500000 intel_idle do_idle cpu_startup_entry")
	p.Hz, p.WallNs, p.CPUs, p.Share = 999, 2e6, []int{3}, 1
	if ns, ok := p.SampledBusyNs(); ok {
		t.Errorf("%v ns at a speed that nobody knows", ns)
	}
	if err := p.Check(1); err != nil {
		t.Errorf("cycles at no speed say nothing of idle time: %v", err)
	}
	p.MHz = 2500 // 4,000,000 cycles are 1.6 ms
	if ns, ok := p.SampledBusyNs(); !ok || math.Abs(ns-1.6e6) > 1 {
		t.Errorf("%v ns, %v", ns, ok)
	}
	for busy, fits := range map[float64]bool{1.6e6: true, 1.63e6: true, 1.57e6: true, 1.65e6: false, 1.55e6: false} {
		if err := p.Check(busy); (err == nil) != fits {
			t.Errorf("%v: %v", busy, err)
		}
	}
	share := func(c Costs) (work float64) {
		for _, f := range c.Functions {
			if f.Name == "work" && f.Where == Thread {
				work = f.SelfNs
			}
		}
		return work
	}
	if c := p.Costs(0); math.Abs(c.BusyNs-1.6e6) > 1 || math.Abs(share(c)-1.6e6*.751) > 1 {
		t.Errorf("%v ns, of them work %v", c.BusyNs, share(c))
	}
	if c := p.Costs(1e6); c.BusyNs != 1e6 || math.Abs(share(c)-.751e6) > 1 {
		t.Errorf("of the accounting's time: %v ns, of them work %v", c.BusyNs, share(c))
	}
	var ns int64
	for _, s := range p.Pprof(0, time.Unix(1, 0)).Sample {
		ns += s.Value[1]
	}
	if math.Abs(float64(ns)-1.6e6) > 2 {
		t.Errorf("pprof has %d ns", ns)
	}
}

// Each CPU's samples stand for what passed while other events had its counter, and those of no
// other; it is said.
func TestCyclesInTurn(t *testing.T) {
	for _, x := range []struct {
		share float64
		want  uint64
	}{{0, 1000}, {1, 1000}, {.5, 2000}, {.25, 4000}} {
		if got := whole(1000, x.share); got != x.want {
			t.Errorf("a share of %v: %d, want %d", x.share, got, x.want)
		}
	}
	p := built(cycles, "7 2000000 | work main", "7 500000 | rest main")
	p.Hz, p.WallNs, p.CPUs, p.MHz, p.Share = 999, 2e6, []int{3}, 2500, .5
	if ns, ok := p.SampledBusyNs(); !ok || math.Abs(ns-1e6) > 1 {
		t.Errorf("%v ns, %v", ns, ok)
	}
	if err := p.Check(1e6); err != nil {
		t.Error(err)
	}
	if got := p.Losses(); len(got) != 1 || !strings.Contains(got[0], "sampled for 50 % of the time") {
		t.Errorf("%q", got)
	}
	p.Tally.Throttled, p.Share = 3, 1
	if got := p.Losses(); len(got) != 1 || !strings.Contains(got[0], "3 times the kernel paused sampling") {
		t.Errorf("%q", got)
	}
	p.Tally.Throttled, p.Share = 0, 0
	if ns, ok := p.SampledBusyNs(); ok || len(p.Losses()) != 1 {
		t.Errorf("a CPU without samples: %v ns, %q", ns, p.Losses())
	}
}

// Threads have their own time, whatever their CPUs' counters did; where other events had those in
// turn, it is not known.
func TestCyclesOfThreads(t *testing.T) {
	p := built(cycles, "7 1000000 | work main", "7 250000 | rest main")
	p.Hz, p.CPUs, p.MHz, p.Threads, p.Share, p.RanNs = 999, []int{3}, 2500, true, 1, 8e5
	if ns, ok := p.SampledBusyNs(); !ok || ns != 8e5 || p.Costs(0).BusyNs != 8e5 || len(p.Losses()) > 0 {
		t.Errorf("%v ns, %v; %q", ns, ok, p.Losses())
	}
	p.Share, p.RanNs = .5, 0
	if ns, ok := p.SampledBusyNs(); ok || len(p.Losses()) != 1 {
		t.Errorf("in turn: %v ns; %q", ns, p.Losses())
	}
}

// With samples that nothing masks, the ends of sections without interrupts are what they are.
func TestNMI(t *testing.T) {
	for _, x := range []struct {
		nmi   bool
		stack string
		want  Class
	}{
		{false, "7 1 _raw_spin_unlock_irqrestore sock_def_readable tcp_data_queue handle_softirqs", IRQOffEnd},
		{true, "7 1 _raw_spin_unlock_irqrestore sock_def_readable tcp_data_queue handle_softirqs", locks},
		{false, "7 1 _raw_spin_unlock_irq_enable futex_wait_queue do_syscall_64", IRQOffEnd},
		{true, "7 1 handle_softirqs irq_exit_rcu", Driver},
		{false, "7 1 handle_softirqs irq_exit_rcu", IRQOffEnd},
	} {
		if p := built(perf.Event{NMI: x.nmi}, x.stack); p.Stacks[0].Class != x.want {
			t.Errorf("NMI %v, %q: %s, want %s", x.nmi, x.stack, p.Stacks[0].Class, x.want)
		}
	}
}

func TestPprof(t *testing.T) {
	p := receiver()
	p.Hz, p.Tally.Lost = 999, 3
	var b bytes.Buffer
	if err := p.Pprof(1600, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var count, ns int64
	classes := map[string]int64{}
	for _, s := range got.Sample {
		count, ns = count+s.Value[0], ns+s.Value[1]
		classes[s.Label["class"][0]] += s.Value[1]
	}
	if count != 8 || ns != 1600 || classes["copy"] != 800 || classes["idle"] != 0 {
		t.Errorf("%d samples, %d ns, %v", count, ns, classes)
	}
	if text := strings.Join(got.Comments, "\n"); !strings.Contains(text, "3 samples lost") ||
		!strings.Contains(text, "cpu-clock") {
		t.Errorf("comments %q", text)
	}
	for _, s := range got.Sample {
		if root := s.Location[len(s.Location)-1].Line[0].Function.Name; root != "app7" && root != "[softirq]" &&
			root != "[interrupt]" && root != "[idle]" && root != "[outside]" {
			t.Errorf("a stack stands on %q", root)
		}
	}
}

// What another host sent is bounded, whole, and plain text.
func TestParseRefuses(t *testing.T) {
	var hostile bytes.Buffer
	if err := built(clock, "7 100 | \x1b[31mred").Pprof(0, time.Unix(1, 0)).Write(&hostile); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"not packed": []byte("hello"), "large": make([]byte, MaxPacked+1),
		"not plain": hostile.Bytes()} {
		if _, err := Parse(data); err == nil {
			t.Errorf("%s: taken", name)
		} else {
			t.Log(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if err := receiver().Pprof(0, time.Unix(1, 0)).Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		frugal.Do(t, func() {
			if p, err := Parse(data); err == nil && p == nil {
				t.Fatal("no profile and no error")
			}
		})
	})
}

// What is packed in a profile is fuzzed by itself: whoever damages what packs it gets no further.
func FuzzUnpacked(f *testing.F) {
	for _, p := range []*Profile{receiver(), built(clock, "7 100 a@mod b | c main"), {}} {
		var b bytes.Buffer
		if err := p.Pprof(0, time.Unix(1, 0)).WriteUncompressed(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frugal.Do(t, func() {
			p, err := parse(data)
			if err != nil {
				return
			}
			if n := parts(data); len(p.Sample)+len(p.Location)+len(p.Function) > n {
				t.Fatalf("%d samples, %d locations, %d functions of %d parts", len(p.Sample), len(p.Location),
					len(p.Function), n)
			}
			for _, text := range texts(p) {
				if plaintext.Clean(text) != text {
					t.Fatalf("%+q", text)
				}
			}
		})
	})
}

// Whatever functions a stack has, it has an account and a class, and its time is somewhere once.
func FuzzStacks(f *testing.F) {
	for _, stack := range []string{"rep_movs_alternative _copy_to_iter" + syscallTail,
		"tcp_v4_rcv handle_softirqs irq_exit_rcu common_interrupt x", "default_idle do_idle",
		"irqentry_exit asm_sysvec_apic_timer_interrupt", "a@softnic .isra.0 | ", "|",
		"schedule exit_to_user_mode_loop irqentry_exit asm_sysvec_reschedule_ipi | main"} {
		f.Add(7, stack)
		f.Add(0, stack)
	}
	known := map[Class]bool{}
	for _, c := range Classes {
		known[c.Class] = true
	}
	f.Fuzz(func(t *testing.T, pid int, stack string) {
		s := stacked{b: NewBuilder()}
		s.add(pid, 100, stack)
		p := s.b.Build(s.names, clock)
		if len(p.Stacks) != 1 || p.Stacks[0].Weight != 100 || !known[p.Stacks[0].Class] {
			t.Fatalf("%+v", p.Stacks)
		}
		want := 100.0
		if p.Stacks[0].Where == Idle {
			want = 0
		}
		c, self := p.Costs(0), 0.0
		for _, f := range c.Functions {
			if self += f.SelfNs; f.TotalNs > 100 || f.SelfNs > f.TotalNs {
				t.Fatalf("%+v", f)
			}
		}
		if c.BusyNs != want || self != want {
			t.Fatalf("%v ns busy, %v of functions, want %v", c.BusyNs, self, want)
		}
		if err := errors.Join(p.Folded(io.Discard), p.Flame(io.Discard, stack), c.Table(io.Discard, 10)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFolded(t *testing.T) {
	var b strings.Builder
	if err := built(clock, "7 1 a@mod b | c;d main", "7 1 a@mod b | c;d main", "0 1 default_idle do_idle",
		"8 1 handle_softirqs x | y").Folded(&b); err != nil {
		t.Fatal(err)
	}
	want := "[softirq];handle_softirqs_[k] 1\napp7;main;c:d;b_[k];a_[mod]_[k] 2\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestTerminal(t *testing.T) {
	var b strings.Builder
	if err := receiver().Costs(1600e6).Table(&b, 2); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{" 50.0   800.0         copy", "rep_movs_alternative", "interrupt handle_edge_irq"} {
		if want = strings.Join(strings.Fields(want), " "); !strings.Contains(strings.Join(strings.Fields(text), " "),
			want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 1+6+1+1+2 {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
