// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

const someFrames = 60_000

// Every frame that the generator sent is counted by the interface, and by the program that it
// came to or as dropped by the link.
func TestIntegrationLedgerOfXDP(t *testing.T) {
	for _, x := range []struct {
		name string
		Options
	}{
		{"native drop, no touch", Options{}},
		{"native drop, read", Options{Touch: TouchRead}},
		{"native drop, write", Options{Touch: TouchWrite}},
		{"native drop, parse", Options{Touch: TouchParse, FrameBytes: 1514}},
		{"generic drop", Options{Attach: Generic, Touch: TouchRead}},
		{"native pass", Options{Action: Pass, Touch: TouchRead}},
		{"redirect to a CPU", Options{Action: toCPU, Touch: TouchRead}},
	} {
		t.Run(x.name, func(t *testing.T) {
			l := newLadder(t)
			r := l.rung(x.Options)
			g := l.generator(GeneratorOptions{Frames: someFrames, FrameBytes: x.FrameBytes})
			before, beforeXDP := l.stats(l.pair.TG), l.redirected()
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			d, err := g.Read()
			if err != nil || d.Sent != someFrames || d.Refused != 0 {
				t.Fatalf("%+v, %v", d, err)
			}
			if now := l.redirected(); now.passed-beforeXDP.passed+now.notTaken-beforeXDP.notTaken != someFrames {
				t.Errorf("its interface counts %+v, and before %+v", now, beforeXDP)
			}
			lost := l.balanced(d.Sent, before, framesOf(r.Read))
			if lost == d.Sent {
				t.Fatal("nothing came")
			}
			c := r.Read()
			if all := Sum(c); all.Bytes != all.Frames*uint64(max(x.FrameBytes, MinFrameBytes)) || all.Missed != 0 {
				t.Errorf("%+v", all)
			}
			if x.Action == toCPU {
				waitFor(t, "some behind the map", func() bool { return framesOf(r.Behind)() > 0 })
				behind := r.Behind()
				if n := Sum(behind).Frames; n == 0 || n > Sum(c).Frames || n != behind[0].Frames {
					t.Errorf("behind the map: %+v of %d", behind, Sum(c).Frames)
				}
			}
		})
	}
}

// Several CPUs send, each its frames: all are counted by the interface, and by the program that
// they came to. Where they share a queue of the peer's, veth adds without a lock (veth_xdp_xmit),
// and now and then loses a count: as many as its two counters together have too few, at most.
func TestIntegrationSeveralCPUsSend(t *testing.T) {
	if n := runtime.NumCPU(); n < 2 {
		t.Skipf("needs 2 CPUs, this machine has %d", n)
	}
	cpus := []int{0, 1}
	for _, x := range []struct {
		queues int
		Options
	}{{1, Options{Touch: TouchRead}}, {1, Options{Attach: Generic}}, {2, Options{Touch: TouchRead}},
		{2, Options{Attach: Generic}}} {
		t.Run(fmt.Sprintf("%v, %d queues", x.Attach, x.queues), func(t *testing.T) {
			l := newLadder(t)
			l.set(l.pair.SUT, "channels", fmt.Sprintf("rx %d tx 1 other 0 combined 0", x.queues))
			r := l.rung(x.Options)
			g := l.generator(GeneratorOptions{Frames: someFrames, CPUs: cpus})
			before, beforeXDP := l.stats(l.pair.TG), l.redirected()
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			d, err := g.Read()
			if err != nil || d.Sent != someFrames*uint64(len(cpus)) || d.Refused != 0 {
				t.Fatalf("%+v, %v", d, err)
			}
			states, err := g.states()
			if err != nil {
				t.Fatal(err)
			}
			for _, cpu := range cpus {
				if states[cpu].Sent != someFrames {
					t.Errorf("CPU %d sent %d", cpu, states[cpu].Sent)
				}
			}
			var passed uint64
			got := framesOf(r.Read)
			waitFor(t, "all that was passed on", func() bool {
				passed = l.stats(l.pair.TG).TxPackets - before.TxPackets
				return got() == passed && passed > 0
			})
			xdp := l.redirected()
			dropped := l.stats(l.pair.TG).TxDropped - before.TxDropped
			short := d.Sent - (xdp.passed - beforeXDP.passed) - (xdp.notTaken - beforeXDP.notTaken)
			if dropped != xdp.notTaken-beforeXDP.notTaken || !xdp.countsPassed {
				t.Errorf("tx_dropped %d; %+v", dropped, xdp)
			}
			if missing := d.Sent - passed - dropped; missing > short || x.queues == len(cpus) && short != 0 {
				t.Errorf("sent %d, passed on %d, dropped %d: %d are missing, and the counters have %d too few", d.Sent,
					passed, dropped, missing, short)
			}
			t.Logf("sent %d, passed on %d, dropped %d; the counters have %d too few", d.Sent, passed, dropped, short)
		})
	}
}

// set sets what may be set of an end.
func (l *ladder) set(e veth.End, name, value string) {
	l.t.Helper()
	in(l.t, e.Netns, func() (any, error) {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		s, err := d.Setting(name)
		if err != nil {
			return nil, err
		}
		return nil, s.Set(value)
	})
}

// redirected is what the sender's interface counts of redirected frames.
func (l *ladder) redirected() linkCounts {
	l.t.Helper()
	return in(l.t, l.pair.TG.Netns, func() (linkCounts, error) { return redirected(l.pair.TG.Dev), nil })
}

// Frames that are sent back come back: the generator's host drops and counts them.
func TestIntegrationFramesComeBack(t *testing.T) {
	for _, a := range []Action{TX, toDev} {
		t.Run(a.String(), func(t *testing.T) {
			l := newLadder(t)
			r := l.rung(Options{Action: a, Touch: TouchSwapMACs})
			back := in(t, l.pair.TG.Netns, func() (*Rung, error) {
				return OpenRung(Options{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes,
					Touch: TouchRead})
			})
			defer back.Close()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before := l.stats(l.pair.TG)
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			d, err := g.Read()
			if err != nil {
				t.Fatal(err)
			}
			l.balanced(d.Sent, before, framesOf(r.Read))
			came := framesOf(r.Read)()
			// What found no room on the way back, the generator's interface counts as dropped.
			waitFor(t, "all frames to come back", func() bool {
				return framesOf(back.Read)()+l.stats(l.pair.TG).RxDropped-before.RxDropped == came
			})
			if n := framesOf(back.Read)(); n == 0 {
				t.Error("nothing came back")
			}
		})
	}
}

// The stack's own rungs drop all of them, and nothing else.
func TestIntegrationStackDrops(t *testing.T) {
	for name, open := range map[string]func(l *ladder) (*filter, error){
		"ingress":    func(l *ladder) (*filter, error) { return openIngress(l.pair.SUT.Dev, l.Tuples) },
		"prerouting": func(l *ladder) (*filter, error) { return openPrerouting(l.Tuples) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLadder(t)
			l.Ports = 3
			f := in(t, l.pair.SUT.Netns, func() (*filter, error) { return open(l) })
			defer f.Close()
			l.talk()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before := l.stats(l.pair.TG)
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			l.balanced(someFrames, before, framesOf(f.Read))
			l.talk()
			if all := Sum(f.Read()); all.Bytes != all.Frames*MinFrameBytes || all.Others == 0 {
				t.Errorf("%+v", all)
			}
		})
	}
}

// While a program drops frames, the hosts go on speaking.
func TestIntegrationOthersPass(t *testing.T) {
	for _, a := range []Attach{Native, Generic} {
		l := newLadder(t)
		r := l.rung(Options{Attach: a, Touch: TouchRead})
		l.talk()
		if n := framesOf(r.Read)(); n != 0 {
			t.Errorf("%v: %d frames of a connection are taken for the generator's", a, n)
		}
		if c := r.Read(); Sum(c).Others == 0 {
			t.Errorf("%v: it saw nothing: %+v", a, c)
		}
	}
}

// A socket that nobody reads gets each datagram or drops it, and one that is read gets it as sent.
func TestIntegrationSockets(t *testing.T) {
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read %v", read), func(t *testing.T) {
			l := newLadder(t)
			s := in(t, l.pair.SUT.Netns, func() (*Socket, error) {
				return OpenSocket(l.Tuples, l.shortest(), 0,
					Tagged(0x7a6362))
			})
			defer s.Close()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before, beforeRX := l.stats(l.pair.TG), l.stats(l.pair.SUT).RxPackets
			var got received
			done, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				for read {
					select {
					case <-done:
						ended <- nil
						return
					default:
					}
					if _, err := s.Take(&got, 0); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			}()
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			l.balanced(someFrames, before, func() uint64 { return l.stats(l.pair.SUT).RxPackets - beforeRX })
			close(done)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			passed := l.stats(l.pair.TG).TxPackets - before.TxPackets
			var dropped uint64
			all := await.So(func() bool {
				if err := s.Drain(&got); err != nil {
					t.Fatal(err)
				}
				var err error
				if dropped, err = s.Dropped(); err != nil {
					t.Fatal(err)
				}
				return dropped+got.Packets == passed
			})
			if !all || got.Corrupted != 0 || got.Packets == 0 || got.Bytes != 18*got.Packets {
				t.Errorf("passed on %d; dropped %d, read %+v", passed, dropped, got)
			}
		})
	}
}
