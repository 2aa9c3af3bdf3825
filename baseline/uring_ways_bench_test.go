// SPDX-License-Identifier: MIT

package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results/stat"
	"golang.org/x/sys/unix"
)

// Of BenchmarkUringWays. The sender and its softirqs have CPU 0, the receiver CPU 1; of veth as it
// is found the payload's softirqs are the sender's.
const (
	wayBytes  = 128 << 10 // of a message and of a read
	waySettle = 150 * time.Millisecond
	wayWindow = 500 * time.Millisecond
	wayRounds = 1 + 10 // the first is not counted
)

// way is one way to receive: how a toggle of io_uring is decided about.
type way struct {
	name string
	open func() (stream.Receiver, error)
}

// uringWays are the mode tcp, with which the others are compared, and variants of the mode uring:
// of its buffers, of how they are taken, of what the ring is asked for. All but the last read as
// much at once as the mode tcp does.
func uringWays() []way {
	o := stream.Options{MessageBytes: wayBytes, ReadBytes: wayBytes}
	of := func(name string, gather time.Duration, change func(*uringShape)) way {
		return way{name, func() (stream.Receiver, error) {
			own, s := o, shapeOf(o)
			own.Gather = gather
			change(&s)
			return newUringReceiver(own, s)
		}}
	}
	buffers := func(n, size int) func(*uringShape) {
		return func(s *uringShape) { s.buffers, s.size = n, size<<10 }
	}
	plain := func(n, size int, incremental bool) func(*uringShape) {
		return func(s *uringShape) {
			buffers(n, size)(s)
			s.bundle, s.incremental = false, incremental
		}
	}
	const gather = 50 * time.Microsecond
	return []way{
		{"tcp", func() (stream.Receiver, error) { return NewTCPReceiver(o) }},
		of("uring: 8 x 128K", 0, func(*uringShape) {}),
		of("8 x 128K, gather", gather, func(*uringShape) {}),
		of("8 x 16K", 0, buffers(8, 16)),
		of("8 x 32K", 0, buffers(8, 32)),
		of("8 x 32K, gather", gather, buffers(8, 32)),
		of("16 x 32K", 0, buffers(16, 32)),
		of("32 x 32K", 0, buffers(32, 32)),
		of("64 x 32K", 0, buffers(64, 32)),
		of("16 x 128K", 0, buffers(16, 128)),
		of("no bundle, 8 x 32K", 0, plain(8, 32, false)),
		of("no bundle, 8 x 128K", 0, plain(8, 128, false)),
		of("no bundle, incremental 8 x 128K", 0, plain(8, 128, true)),
		of("COOP_TASKRUN, 8 x 128K", 0, func(s *uringShape) { s.ring.DeferTaskrun, s.ring.CoopTaskrun = false, true }),
		{"a request a receive, 128K", func() (stream.Receiver, error) { return newOneByOne(o) }},
		{"tcp, 1M at once", func() (stream.Receiver, error) {
			return NewTCPReceiver(stream.Options{MessageBytes: 8 * wayBytes, ReadBytes: 8 * wayBytes})
		}},
	}
}

// oneByOne receives by a request for each receive, as recv(2) does.
type oneByOne struct {
	*UringReceiver
	buf *uring.Memory
}

func newOneByOne(o stream.Options) (*oneByOne, error) {
	r, err := NewUringReceiver(o)
	if err != nil {
		return nil, err
	}
	buf, err := uring.NewMemory(wayBytes, uring.PagesTransparent)
	return &oneByOne{r, buf}, err
}

func (r *oneByOne) Close() error { return errors.Join(r.UringReceiver.Close(), r.buf.Close()) }

func (r *oneByOne) Receive(c *stream.Conn, m *stream.Meter) error {
	for {
		r.ring.GetSQE().Recv(c.FD, r.buf.Bytes(), 0, 0)
		for first := true; first || r.ring.CQReady() == 0; first = false {
			m.Wait()
			if _, err := r.ring.SubmitAndWait(1, waitMs*time.Millisecond); err != nil {
				return err
			}
		}
		cqe := *r.ring.CQEAt(0)
		r.ring.Advance(1)
		switch errno := cqe.Errno(); {
		case cqe.Res == 0:
			return nil
		case errno == 0:
			m.Bytes(int(cqe.Res))
		case errno != unix.EINTR && errno != unix.EAGAIN:
			return errno
		}
	}
}

// passage is what one flow took in the window, and, of all of it, how the receiver waited.
type passage struct {
	gbps, cpu                    float64 // cpu: seconds of both CPUs for 1e9 bytes
	calls, sleeps, gathers, arms float64 // of 1e6 bytes; sleeps: switches that the receiver wanted
}

// BenchmarkUringWays holds ways to receive by io_uring against recv(2) over veth, where the
// receiver's softirqs run on its CPU (together) and where they do not (apart). They take turns:
// every round has each of them once, every second one backwards. One operation is all rounds,
// some minutes; it takes root.
func BenchmarkUringWays(b *testing.B) {
	for _, layout := range []string{"together", "apart"} {
		b.Run(layout, func(b *testing.B) { benchWays(b, layout == "together") })
	}
}

func benchWays(b *testing.B, together bool) {
	if os.Geteuid() != 0 || runtime.NumCPU() < 2 {
		b.Skip("takes root, to make network namespaces, and two CPUs")
	}
	pair, err := veth.New(veth.Options{MTU: 1500, TCPBufMax: 6 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer pair.Close()
	if together {
		for cpu, e := range []veth.End{pair.TG, pair.SUT} {
			if err := e.Netns.Do(func() error { return nic.SteerByRPS(e.Dev, cpu) }); err != nil {
				b.Fatal(err)
			}
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6)) // both paths keep theirs while they sleep
	p, ways := streamtest.Payload(b, wayBytes), uringWays()
	all := make([][]passage, len(ways))
	for range b.N {
		for round := range wayRounds {
			for i := range ways {
				if round%2 == 1 {
					i = len(ways) - 1 - i
				}
				got, err := move(pair, p, ways[i])
				if err != nil {
					b.Fatalf("%s: %v", ways[i].name, err)
				}
				if round > 0 {
					all[i] = append(all[i], got)
				}
			}
		}
	}
	fmt.Println(wayTable(ways, all)) // of b.Log ten lines would be seen
	b.ReportMetric(ratio(all[1], all[0], passage.speed).Estimate, "uring/tcp")
}

// onCPU runs f on a thread of its own, which ends with it, on a CPU, before what else that CPU
// has to do.
func onCPU(cpu int, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(cpu)
		err := errors.Join(unix.SchedSetaffinity(0, &set), unix.Setpriority(unix.PRIO_PROCESS, 0, -20))
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return done
}

// move moves a flow, received by w.
func move(pair *veth.Pair, p *stream.Payload, w way) (got passage, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rx, tx, h, err := meetOver(ctx, pair, p)
	if err != nil {
		return got, err
	}
	defer rx.Close()
	defer tx.Close()
	m, ready := new(stream.Meter), make(chan error, 1)
	received := onCPU(1, func() error {
		r, err := w.open()
		if err != nil {
			ready <- err
			return err
		}
		defer r.Close()
		err = r.Attach(rx, h)
		if ready <- err; err == nil {
			err = r.Receive(rx, m)
		}
		got.note(r, m)
		return err
	})
	if err := <-ready; err != nil {
		return got, err
	}
	sent := onCPU(0, func() error {
		s, err := NewTCPSender(stream.Options{})
		return errors.Join(err, s.Send(tx, p, new(stream.Meter)))
	})
	time.Sleep(waySettle)
	cpu, err := counter.ReadCPU(counter.FS{})
	at, bytes := time.Now(), m.Snapshot().Bytes
	time.Sleep(wayWindow)
	took, passed := time.Since(at).Seconds(), float64(m.Snapshot().Bytes-bytes)
	after, err2 := counter.ReadCPU(counter.FS{})
	tx.Stop()
	if err := errors.Join(err, err2, <-sent, tx.EndOfSend(), <-received); err != nil {
		return got, err
	}
	use := counter.Usage(cpu, after, []int{0, 1})
	if use.BusyCores == nil || passed == 0 {
		return got, fmt.Errorf("%v bytes in %v s; CPU time: %v", passed, took, use.Flags)
	}
	got.gbps, got.cpu = passed*8/1e9/took, *use.BusyCores*use.WallS/(passed/1e9)
	return got, nil
}

// note notes how the receiver waited; on its thread.
func (a *passage) note(r stream.Receiver, m *stream.Meter) {
	c := m.Snapshot()
	mb := max(float64(c.Bytes), 1) / 1e6
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u)
	a.calls, a.sleeps, a.arms = float64(c.Calls)/mb, float64(u.Nvcsw)/mb, float64(c.Rearms)/mb
	if u, ok := r.(*UringReceiver); ok {
		a.gathers = float64(u.ring.Gathered()) / mb
	}
}

// meetOver opens a flow over a pair.
func meetOver(ctx context.Context, pair *veth.Pair, p *stream.Payload) (rx, tx *stream.Conn, h stream.Hello,
	err error) {
	h = stream.Hello{Cookie: stream.NewCookie(), TXMode: "tcp", MessageBytes: uint64(p.MessageBytes()),
		PeriodBytes: uint64(p.PeriodBytes())}
	o := sock.Options{Congestion: "cubic"}
	var port *stream.Port
	if err := pair.SUT.Netns.Do(func() (err error) {
		port, err = stream.Listen(net.JoinHostPort(pair.SUT.IPv4.String(), "0"), h.Cookie, o)
		return err
	}); err != nil {
		return nil, nil, h, err
	}
	defer port.Close()
	dialed := make(chan error, 1)
	go func() {
		dialed <- pair.TG.Netns.Do(func() (err error) {
			tx, _, err = stream.Dial(ctx, port.Addr().String(), h, o)
			return err
		})
	}()
	rx, _, err = port.Accept(ctx)
	if err == nil {
		err = rx.Welcome(stream.Welcome{})
	}
	return rx, tx, h, errors.Join(err, <-dialed)
}

func (a passage) speed() float64 { return a.gbps }
func (a passage) cost() float64  { return a.cpu }

// ratio compares a way with another, round by round.
func ratio(ours, theirs []passage, of func(passage) float64) stat.Paired {
	return stat.Pairs(figures(ours, of), figures(theirs, of))
}

func figures(all []passage, of func(passage) float64) (v []float64) {
	for _, a := range all {
		v = append(v, of(a))
	}
	return v
}

func wayTable(ways []way, all [][]passage) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nway\tGbit/s\tof tcp's\tCPU of tcp's\tcalls/MB\tsleeps/MB\tgathers/MB\tarmed/MB")
	for i, way := range ways {
		median := func(of func(passage) float64) float64 { return stat.Median(figures(all[i], of)) }
		fmt.Fprintf(w, "%s\t%.1f\t%v\t%v\t%.1f\t%.1f\t%.2f\t%.2f\n", way.name, median(passage.speed),
			ratio(all[i], all[0], passage.speed), ratio(all[i], all[0], passage.cost),
			median(func(a passage) float64 { return a.calls }), median(func(a passage) float64 { return a.sleeps }),
			median(func(a passage) float64 { return a.gathers }), median(func(a passage) float64 { return a.arms }))
	}
	_ = w.Flush()
	load, _ := os.ReadFile("/proc/loadavg")
	return s.String() + "load average " + cmp.Or(strings.TrimSpace(string(load)), "unknown")
}
