// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// A generator whose receiver is gone does not go on: where that has closed its connection, where it
// does not answer any more, and where its address on the link is another.
func TestIntegrationReceiverGone(t *testing.T) {
	for what, x := range map[string]struct {
		end  func(l *ladder, words int) error
		want string
	}{
		"it was killed": {func(_ *ladder, words int) error { return unix.Close(words) }, "broke off"},
		"it is another": {func(l *ladder, _ int) error { return l.address(net.HardwareAddr{2, 0, 0, 0, 0, 9}) },
			"was "},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLadder(t)
			l.rung(Options{Touch: TouchRead})
			ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(ends[0])
			c := &stream.Conn{FD: -1, Words: &stream.Conn{FD: ends[0]}}
			m := &stream.Meter{}
			failed := make(chan error, 1)
			go func() {
				failed <- l.pair.TG.Netns.Do(func() error { return l.sendTo(c, m) })
			}()
			waitFor(t, "frames", func() bool { return m.Snapshot().Packets > 0 })
			if err := x.end(l, ends[1]); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-failed:
				if err == nil || !strings.Contains(err.Error(), x.want) || !stream.BlamesPeer(err) {
					t.Errorf("%v, want %q", err, x.want)
				}
			case <-await.Timeout():
				c.Stop()
				t.Errorf("it goes on (%v)", <-failed)
			}
		})
	}
}

// A neighbour that does not answer has until the next look, and one that is another has not.
func TestIntegrationNeighbourForgotten(t *testing.T) {
	l := newLadder(t)
	g := l.generator(GeneratorOptions{})
	in(t, l.pair.TG.Netns, func() (any, error) {
		f, err := openFarEnd(g.Dev, g.Tuples, g.peer, nil)
		if err != nil {
			return nil, err
		}
		defer f.close()
		if err := f.look(time.Now()); err != nil {
			t.Errorf("it is there: %v", err)
		}
		f.to = l.Dest.Next().Next().Next() // nobody has that
		if err := f.neighbour(); err != nil {
			t.Errorf("at the first look: %v", err)
		}
		if err := f.neighbour(); err == nil || !strings.Contains(err.Error(), "no longer answers") {
			t.Errorf("at the second: %v", err)
		}
		return nil, nil
	})
}

// address gives the receiver another address on the link, of which the sender's kernel hears.
func (l *ladder) address(mac net.HardwareAddr) error {
	return l.pair.SUT.Netns.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		dev, err := c.Named(l.pair.SUT.Dev)
		if err != nil {
			return err
		}
		if err := c.Change(dev.Index, func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.IFLA_ADDRESS,
				mac)
		}); err != nil {
			return err
		}
		// It asks for its peer, from the new address: the peer's kernel takes note.
		if out, err := exec.Command("ip", "neigh", "flush", "dev", dev.Name).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		ask(netip.AddrPortFrom(l.Dest, 0), netip.AddrPortFrom(l.Source, discard))
		return nil
	})
}

// sendTo is a sender's flow, on the calling thread.
func (l *ladder) sendTo(c *stream.Conn, m *stream.Meter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := newSender(xdpMaker)(stream.Options{MessageBytes: 18, NIC: stream.NICQueue{Dev: l.pair.TG.Dev}})
	if err != nil {
		return err
	}
	c.Local, c.Remote = netip.AddrPortFrom(l.Source, l.FirstPort), netip.AddrPortFrom(l.Dest, l.DestPort)
	return errors.Join(s.Send(c, nil, m), s.Close())
}

// Of several tuples, too, a socket gets the generator's datagrams alone.
func TestIntegrationStrangersAtASocket(t *testing.T) {
	for _, ports := range []int{1, 4} {
		t.Run(fmt.Sprint(ports), func(t *testing.T) {
			l := newLadder(t)
			l.Ports = ports
			s := in(t, l.pair.SUT.Netns, func() (*Socket, error) {
				return OpenSocket(l.Tuples, MinFrameBytes, 0,
					Tagged(0x7a6362))
			})
			defer s.Close()
			in(t, l.pair.TG.Netns, func() (any, error) {
				for port := int(l.FirstPort) - 1; port <= int(l.FirstPort)+ports; port++ {
					c, err := net.DialUDP("udp4", &net.UDPAddr{Port: port}, &net.UDPAddr{IP: l.pair.SUT.IPv4,
						Port: int(l.DestPort)})
					if err != nil {
						return nil, err
					}
					defer c.Close()
					if _, err := c.Write(make([]byte, 18)); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
			var got received
			waitFor(t, "datagrams", func() bool {
				if err := s.Drain(&got); err != nil {
					t.Fatal(err)
				}
				return got.Corrupted >= uint64(ports) // none has the tag
			})
			await.Pause("what else there is has the time to come", 20*time.Millisecond)
			if err := s.Drain(&got); err != nil || got.Corrupted != uint64(ports) || got.Packets != 0 {
				t.Errorf("%+v, %v; want %d, and none of strangers", got, err, ports)
			}
		})
	}
}

// What was lost behind a rung has not come, and is told: with what came, all frames of the rung.
func TestIntegrationLostBehindARung(t *testing.T) {
	for _, f := range []stream.Frames{{}, {Redirect: "dev"}, {Redirect: "xsk"}, {Redirect: "xsk", Attach: "generic"}} {
		t.Run(f.Redirect+f.Attach, func(t *testing.T) {
			l := newLadder(t)
			r, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{MessageBytes: 18,
				Frames: f, NIC: stream.NICQueue{Dev: l.pair.SUT.Dev}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var back *Rung
			if f.Redirect == "dev" {
				back = in(t, l.pair.TG.Netns, func() (*Rung, error) {
					return OpenRung(Options{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes,
						Touch: TouchRead})
				})
				defer back.Close()
			}
			r.frameBytes = l.shortest()
			in(t, l.pair.SUT.Netns, func() (any, error) { return nil, r.place(l.Tuples) })
			g, m := l.generator(GeneratorOptions{Frames: someFrames}), &stream.Meter{}
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			there := framesOf(r.rung.Behind)
			if r.sockets != nil {
				there = func() uint64 { return r.came }
			}
			if back != nil {
				there = framesOf(back.Read)
			}
			var came, n, lost uint64
			// A busy machine's kernel may bring some when all seemed to be there: but not again
			// and again.
			const most = 3
			tries := 0
			settled := func() bool {
				tries++
				if err := r.settle(&stream.Conn{Sent: someFrames}, m); err != nil {
					t.Fatal(err)
				}
				came, n, lost = m.Snapshot().Packets, there(), 0
				for _, x := range r.Evidence().Lost {
					lost += uint64(x.Value)
				}
				return came != 0 && came == n && came+lost == r.counted.Frames
			}
			for !settled() {
				if tries < most {
					t.Logf("not settled yet: %d came, %d are there, %d lost, of %d", came, n, lost, r.counted.Frames)
					continue
				}
				t.Errorf("%d came, %d are there, %d lost, of %d", came, n, lost, r.counted.Frames)
				break
			}
			t.Logf("%d came, %d lost behind the rung", came, lost)
		})
	}
}
