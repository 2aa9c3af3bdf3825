// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/packet/xdp"
)

// xdpLink is a veth link whose receiving end a thread of NAPI polls, bound to a CPU. Nothing goes
// over it but what a run sends: its ends know each other for longer than that.
type xdpLink struct {
	pair     *veth.Pair
	spare    *veth.Pair // where nothing comes; nil until xdp-bench is started there
	tuples   xdp.Tuples
	from, to []int // CPUs of the generator and of the thread
	placed   *place.Placement
	threads  *counter.Pollers
	link     *linkReader // of the receiver's interface
	pace     xdpPace
}

// xdpPace is that of the generator.
type xdpPace struct {
	rate  float64 // frames per second; 0: as many as it can
	burst int     // that leave together at a rate
	lined bool    // frames begin at a line of the cache
}

func newXDPLink(t Tools, mtu int, pace xdpPace) (_ *xdpLink, err error) {
	l := &xdpLink{from: t.SenderCPUs, to: t.ReceiverCPUs, pace: pace}
	if runtime.GOMAXPROCS(0) < 4 { // what reads the counters sleeps without a word to the scheduler
		runtime.GOMAXPROCS(4)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.pair, err = veth.New(veth.Options{MTU: mtu}); err != nil {
		return l, err
	}
	if err := silence(l.pair); err != nil {
		return l, err
	}
	l.tuples = xdp.Tuples{Source: v4(l.pair.TG), Dest: v4(l.pair.SUT), FirstPort: 40000, DestPort: 7719}
	if err := l.pair.SUT.Netns.Do(l.receive); err != nil {
		return l, err
	}
	return l, l.meet()
}

func v4(e veth.End) netip.Addr {
	a, _ := netip.AddrFromSlice(e.IPv4)
	return a.Unmap()
}

// silence keeps both ends' kernels from sending by themselves.
func silence(p *veth.Pair) error {
	for _, e := range []veth.End{p.SUT, p.TG} {
		if err := e.Netns.Do(func() error { return quiet(e.Dev) }); err != nil {
			return err
		}
	}
	return nil
}

// quiet keeps an end's kernel from sending by itself: no IPv6, and no question for an hour whether
// the neighbour is still there. Programs count all frames, so one of these would be in the counts.
func quiet(dev string) error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		err = nil // a kernel without IPv6
	}
	for _, s := range []struct{ name, value string }{{"base_reachable_time_ms", "3600000"},
		{"delay_first_probe_time", "3600"}} {
		err = errors.Join(err, os.WriteFile("/proc/sys/net/ipv4/neigh/"+dev+"/"+s.name, []byte(s.value), 0))
	}
	return err
}

// receive gives the receiver's interface its thread. It runs in the receiver's namespace.
func (l *xdpLink) receive() (err error) {
	dev := l.pair.SUT.Dev
	if l.placed, err = place.Threads(dev, place.On(l.to...)); err != nil {
		return err
	}
	d, err := nic.Open(dev)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := d.NAPIs()
	if err != nil {
		return err
	}
	var pids []int
	for _, n := range all {
		pids = append(pids, n.PID)
	}
	l.threads = counter.OpenPollers(counter.FS{}, pids, l.to)
	l.link, err = linkReaderHere(dev)
	return err
}

// meet makes the two ends' kernels hear of each other, by a connection.
func (l *xdpLink) meet() error {
	at := netip.AddrPortFrom(l.tuples.Dest, l.tuples.DestPort).String()
	var ln net.Listener
	if err := l.pair.SUT.Netns.Do(func() (err error) { ln, err = net.Listen("tcp", at); return err }); err != nil {
		return err
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(c, "hello") // what comes of it is seen at the other end
			c.Close()
		}
	}()
	return l.pair.TG.Netns.Do(func() error {
		c, err := net.DialTimeout("tcp", at, 5*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = io.ReadAll(c)
		return err
	})
}

func (l *xdpLink) close() error {
	var err error
	if l.link != nil {
		l.link.close()
	}
	l.threads.Close()
	if l.placed != nil {
		err = l.pair.SUT.Netns.Do(l.placed.Undo)
	}
	for _, p := range []*veth.Pair{l.pair, l.spare} {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	return err
}

// generator makes one that sends until it is stopped, at most for so long.
func (l *xdpLink) generator(most time.Duration) (g *xdp.Generator, err error) {
	err = l.pair.TG.Netns.Do(func() error {
		g, err = xdp.NewGenerator(xdp.GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.tuples,
			FrameBytes: xdp.MinFrameBytes, CPUs: l.from, Rate: l.pace.rate, Burst: l.pace.burst, AtLine: l.pace.lined,
			Limit: most, Tag: tag})
		return err
	})
	return g, err
}

const tag = 0x7a6362 // of all frames

// beyond opens what a case needs beside the program that is compared: what takes frames that come
// back, a socket that frames which pass fill and nobody reads.
func (l *xdpLink) beyond(c xdpCase) (end io.Closer, err error) {
	switch c.action {
	case xdp.TX:
		err = l.pair.TG.Netns.Do(func() (err error) {
			end, err = xdp.OpenRung(xdp.Options{Dev: l.pair.TG.Dev, Tuples: l.tuples, FrameBytes: xdp.MinFrameBytes,
				Touch: xdp.TouchRead})
			return err
		})
	case xdp.Pass:
		err = l.pair.SUT.Netns.Do(func() (err error) {
			end, err = xdp.OpenSocket(l.tuples, xdp.MinFrameBytes, 0, xdp.Tagged(tag))
			return err
		})
	default:
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	return end, nil
}

// received reads the counters of the receiver's interface.
func (l *xdpLink) received() (rtnl.Stats, error) { return l.link.read() }

// sent reads the counters of the generator's interface.
func (l *xdpLink) sent() (rtnl.Stats, error) { return readLink(l.pair.TG) }

// senderCPU returns where a program may run that is not to disturb the receiver.
func (l *xdpLink) senderCPU() []int { return l.from }
