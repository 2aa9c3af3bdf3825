// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// kernelGenerator is the kernel's own generator, pktgen (Documentation/networking/pktgen.rst): a
// kernel thread on each CPU, which makes packets and hands them to the interface's driver. Its
// packets go through neither sockets nor queueing disciplines.
//
// It runs as long as a write to its control file lasts, which any signal to the writing thread
// ends: what is killed or stopped sends nothing more. What it was given of an interface is under a
// lease. It is for one network namespace: the calling thread's.
type kernelGenerator struct {
	GeneratorOptions
	peer  net.HardwareAddr
	lease *lease.Lease
	files []string // of the devices

	stopping atomic.Bool
	mu       sync.Mutex
	tid      int // that writes now; 0: none
	end      *time.Timer
}

func probePktgen() error { return cannot(kernelPktgen, nic.PktgenLoaded()) }

var kernelMaker = maker{kernelPktgen, func(o GeneratorOptions, cpus []int) (generates, func() error, error) {
	if o.CPUs = cpus; len(cpus) == 0 {
		cpu, err := boundTo()
		if err != nil {
			return nil, nil, err
		}
		o.CPUs = []int{cpu}
	}
	g, err := newKernelGenerator(o)
	return g, func() error { return g.Run() }, err
}}

// newKernelGenerator finds the peer, and tells the generator what to make. One that somebody else
// uses is refused.
func newKernelGenerator(o GeneratorOptions) (_ *kernelGenerator, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	g := &kernelGenerator{GeneratorOptions: o}
	if err := g.open(); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *kernelGenerator) open() error {
	dev, err := rtnl.LinkNamed(g.Dev)
	if err != nil {
		return err
	}
	source, err := sourceMAC(g.Dev, dev)
	if err != nil {
		return err
	}
	if err := g.Tuples.checkFrameBytes(g.FrameBytes, dev.MTU); err != nil {
		return err
	}
	if int(g.Tuples.FirstPort)+g.Tuples.ports() > math.MaxUint16 {
		return fmt.Errorf("%d 5-tuples from port %d on: pktgen has no port 65535: take fewer (tuples)",
			g.Tuples.ports(), g.Tuples.FirstPort)
	}
	if err := g.checkRate(); err != nil {
		return err
	}
	if g.peer, err = resolve(dev, g.Tuples); err != nil {
		return err
	}
	if err := nic.PktgenBusy(); err != nil {
		return err
	}
	var want []lease.Want
	for _, cpu := range g.CPUs {
		want = append(want, lease.Want{Dev: g.Dev, Name: fmt.Sprintf("pktgen %d", cpu), Value: "present"})
		g.files = append(g.files, nic.PktgenName(g.Dev, cpu))
	}
	g.lease = lease.New(lease.Options{})
	if err := g.lease.Apply(want...); err != nil {
		return err
	}
	for _, file := range g.files {
		for _, command := range g.commands(source) {
			if err := nic.WritePktgen(file, command); err != nil {
				return pktgenRefused(err, command)
			}
		}
	}
	return nil
}

// checkRate refuses a rate that a thread would keep by sending less often than it is looked at.
func (g *kernelGenerator) checkRate() error {
	if g.Rate > 0 && g.delay() > mostDelay {
		return &fault.Error{Op: fmt.Sprintf(
			"pktgen at %g packets a second, by %d CPUs and in bursts of %d: each would send every %.0f s", g.Rate,
			len(g.CPUs), max(g.Burst, 1), float64(g.delay())/1e9),
			How: "take a higher pace, fewer CPUs or a smaller burst"}
	}
	return nil
}

func pktgenRefused(err error, command string) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) && strings.HasPrefix(command, "burst") {
		f.How = "its driver takes no packet twice: take a burst of 1, or tx pktgen-xdp"
	}
	return err
}

// commands lists the commands for one of its devices.
func (g *kernelGenerator) commands(source net.HardwareAddr) []string {
	t, last := g.Tuples, int(g.Tuples.FirstPort)
	if t.ports() > 1 {
		last += t.ports() // the first port that is not used (mod_cur_headers)
	}
	out := []string{fmt.Sprintf("count %d", g.Frames), "clone_skb 0", fmt.Sprintf("pkt_size %d", g.FrameBytes),
		"delay 0",
		"src_mac " + source.String(), "dst_mac " + g.peer.String(),
		fmt.Sprintf("udp_src_min %d", t.FirstPort), fmt.Sprintf("udp_src_max %d", last),
		fmt.Sprintf("udp_dst_min %d", t.DestPort), fmt.Sprintf("udp_dst_max %d", t.DestPort), "flag QUEUE_MAP_CPU"}
	if t.v6() {
		out = append(out, "flag UDPCSUM", "src6 "+t.Source.Unmap().String(), "dst6 "+t.Dest.Unmap().String())
	} else {
		out = append(out, "src_min "+t.Source.Unmap().String(), "src_max "+t.Source.Unmap().String(),
			"dst "+t.Dest.Unmap().String())
	}
	if g.Burst > 1 {
		out = append(out, fmt.Sprintf("burst %d", g.Burst))
	}
	if g.Rate > 0 {
		out = append(out, fmt.Sprintf("delay %d", g.delay()))
	}
	return out
}

// delay computes how long a thread waits after a packet, ns: not after each, but after a burst
// (pktgen_xmit: spin is before xmit_more). As a rate (ratep) the kernel would take whole packets a
// second, and round the time down.
func (g *kernelGenerator) delay() uint64 {
	return max(uint64(math.Round(float64(max(g.Burst, 1))*1e9*float64(len(g.CPUs))/g.Rate)), 1)
}

// mostDelay is the longest that is asked for, well below what means never to pktgen (0x7fffffff).
const mostDelay = 2e9

// Peer returns the receiver's address on the link.
func (g *kernelGenerator) Peer() net.HardwareAddr { return g.peer }

// Run sends until Stop, Limit, or each CPU has sent Frames. The calling thread must stay in the
// network namespace. It may be called once.
func (g *kernelGenerator) Run() error {
	runtime.LockOSThread() // the signal that ends it is for this thread
	defer runtime.UnlockOSThread()
	f, err := os.OpenFile(nic.PktgenFile("pgctrl"), os.O_WRONLY, 0)
	if err != nil {
		return &fault.Error{Op: "start pktgen", Err: err, How: "modprobe pktgen"}
	}
	defer f.Close()
	if err := nic.PktgenBusy(g.files...); err != nil { // who came since it was opened would flood, too
		return err
	}
	g.mu.Lock()
	g.tid, g.end = unix.Gettid(), time.AfterFunc(g.Limit, g.Stop)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.tid = 0
		g.mu.Unlock()
	}()
	if g.stopping.Load() {
		return nil
	}
	// It returns when all have sent what they were to send, or a signal came.
	if _, err := unix.Write(int(f.Fd()), []byte("start")); err != nil && !errors.Is(err, unix.EINTR) {
		return &fault.Error{Op: "start pktgen", Err: err}
	}
	if all, err := g.Read(); err != nil || g.stopping.Load() || g.Frames > 0 &&
		all.Sent >= g.Frames*uint64(len(g.CPUs)) {
		return err
	}
	return &fault.Error{Op: "pktgen ended before it was told to", Err: unix.EINTR,
		How: "somebody stopped it (/proc/net/pktgen/pgctrl), or a signal did: run it again"}
}

// Stop ends Run. It may be called at any time, and does not wait.
func (g *kernelGenerator) Stop() {
	if g.stopping.Swap(true) {
		return
	}
	go func() {
		for g.interrupt() {
			time.Sleep(5 * time.Millisecond)
		}
	}()
}

// interrupt signals the thread that writes, and reports whether there is any: with a signal that
// the Go runtime makes nothing of.
func (g *kernelGenerator) interrupt() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tid != 0 {
		_ = unix.Tgkill(unix.Getpid(), g.tid, unix.SIGURG)
	}
	return g.tid != 0
}

// Extend lets it go on for so long from now.
func (g *kernelGenerator) Extend(d time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil {
		g.end.Reset(d)
	}
	return nil
}

// Read adds up what was done so far: packets that the driver took, and that it did not.
func (g *kernelGenerator) Read() (all generated, err error) {
	for _, file := range g.files {
		b, err := nic.ReadPktgen(file)
		if err != nil {
			return all, err
		}
		sent, refused, err := parsePktgen(b)
		if err != nil {
			return all, err
		}
		all.Sent, all.Refused = all.Sent+sent, all.Refused+refused
	}
	return all, nil
}

// link reads how many of the sent the interface dropped, by its tx_dropped. Which of its tx_packets
// are the generator's no driver tells.
func (g *kernelGenerator) link() linkCounts {
	l, err := rtnl.LinkNamed(g.Dev)
	if err != nil || l.Stats == nil {
		return linkCounts{}
	}
	all, err := g.Read()
	if err != nil {
		return linkCounts{}
	}
	driver := ""
	if d, err := nic.Open(g.Dev); err == nil {
		drv, _ := d.Driver() // one that does not tell its name is not veth
		driver = drv.Name
		d.Close()
	}
	return linkCounts{notTaken: droppedOfSent(driver, l.Stats.TxDropped, all.Refused), countsNotTaken: true}
}

// droppedOfSent computes how many of the sent are in an interface's tx_dropped. pktgen counts an
// error wherever the driver's send function returns something other than that it has the packet
// (net/core/pktgen.c: pktgen_xmit), and looks at no counter: whether that one is in tx_dropped,
// too, is the driver's choice. veth counts each that it drops there, and newer kernels' veth_xmit
// also returns NET_XMIT_DROP; that of older ones returns NETDEV_TX_OK, so that pktgen has no error
// and nothing is taken off. Of other drivers it is not known: nothing is taken off, either.
func droppedOfSent(name string, dropped, refused uint64) uint64 {
	if !driver.Of(name).CountsUnsent {
		return dropped
	}
	return dropped - min(dropped, refused)
}

// Close takes the interface away from the generator. Run must have ended. It may be called twice.
func (g *kernelGenerator) Close() (err error) {
	if g.end != nil {
		g.end.Stop()
	}
	if g.lease != nil {
		err = g.lease.Restore()
		g.lease = nil
	}
	return err
}
