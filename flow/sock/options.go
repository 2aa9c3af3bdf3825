// SPDX-License-Identifier: MIT

package sock

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Options are the options of a flow's socket. Zero values leave the kernel's
// defaults.
type Options struct {
	RcvBuf     int    // SO_RCVBUF, bytes; the kernel doubles it and switches auto-tuning off
	SndBuf     int    // SO_SNDBUF, bytes; likewise
	Congestion string // TCP_CONGESTION, such as "cubic"
	PaceBitsPS uint64 // of payload, bits per second, which the sender keeps to (stream.Pace)
	ZeroCopy   bool   // SO_ZEROCOPY, for MSG_ZEROCOPY
	BusyPollUs int    // SO_BUSY_POLL and SO_PREFER_BUSY_POLL: microseconds for which a call polls the queue
	BusyBudget int    // SO_BUSY_POLL_BUDGET: packets that one look at the queue takes at most
	// EpollUs is for how many microseconds a wait by epoll polls the queue, with prefer_busy_poll;
	// 0: not.
	EpollUs   int
	OnlyEpoll bool // nobody waits for the socket but by epoll
	Interface int  // SO_BINDTOIFINDEX: packets come and go by the interface with this index
}

// Apply sets o on fd. It belongs before connect or listen: the window scale is
// chosen from the buffer sizes at the handshake.
func (o Options) Apply(fd int) error {
	if o.RcvBuf > 0 {
		if err := setBuffer(fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, "SO_RCVBUF", "net.core.rmem_max",
			o.RcvBuf); err != nil {
			return err
		}
	}
	if o.SndBuf > 0 {
		if err := setBuffer(fd, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, "SO_SNDBUF", "net.core.wmem_max",
			o.SndBuf); err != nil {
			return err
		}
	}
	if o.Congestion != "" {
		if err := setCongestion(fd, o.Congestion); err != nil {
			return err
		}
	}
	if o.PaceBitsPS > 0 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT,
			unsentBytes(o.PaceBitsPS)); err != nil {
			return remedy.Error(remedy.SetLowat, "setsockopt TCP_NOTSENT_LOWAT", err, remedy.On{FD: fd})
		}
	}
	if o.BusyPollUs > 0 {
		if err := setBusyPoll(fd, o.BusyPollUs, o.BusyBudget); err != nil {
			return err
		}
	}
	if o.Interface > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, o.Interface); err != nil {
			return &fault.Error{Op: fmt.Sprintf("setsockopt SO_BINDTOIFINDEX %d", o.Interface), Err: err,
				How: "see that the interface is still there, then run zcbench again"}
		}
	}
	if o.ZeroCopy {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
			return remedy.Error(remedy.SetZeroCopy, "setsockopt SO_ZEROCOPY", err, remedy.On{FD: fd})
		}
	}
	return nil
}

// setBusyPoll lets calls on the socket poll the queue that its packets come by before they sleep
// (net/core/sock.c), and keeps the interface's interrupts off meanwhile where it defers them.
func setBusyPoll(fd, us, budget int) error {
	for _, x := range []struct {
		name   string
		opt, v int
	}{{"SO_BUSY_POLL", unix.SO_BUSY_POLL, us}, {"SO_PREFER_BUSY_POLL", unix.SO_PREFER_BUSY_POLL, 1},
		{"SO_BUSY_POLL_BUDGET", unix.SO_BUSY_POLL_BUDGET, budget}} {
		if x.v == 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, x.opt, x.v); err != nil {
			return remedy.Error(remedy.SetBusyPoll, fmt.Sprintf("setsockopt %s %d", x.name, x.v), err,
				remedy.On{FD: fd, Value: strconv.Itoa(x.v)})
		}
	}
	return nil
}

// unsentBytes computes how much a paced flow may have waiting in its send buffer: what it sends in
// a tenth of a second. The kernel sizes the buffer for more, and a slow flow would then end as much
// later as the buffer takes to run dry.
func unsentBytes(bitsPS uint64) int {
	return int(min(max(bitsPS/8/10, 16<<10), 1<<30))
}

// setBuffer sets a buffer size past the system's limit where it may
// (CAP_NET_ADMIN), and refuses a size that the kernel would silently cut.
func setBuffer(fd, opt, force int, name, limit string, n int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, n) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, opt, n); err != nil {
		return remedy.Error(remedy.SetBuffer, fmt.Sprintf("setsockopt %s %d", name, n), err,
			remedy.On{FD: fd, Value: strconv.Itoa(n)})
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, opt)
	if err != nil {
		return remedy.Error(remedy.GetOption, "getsockopt "+name, err, remedy.On{FD: fd})
	}
	if got < 2*n {
		return &fault.Error{Op: fmt.Sprintf("setsockopt %s %d", name, n), Err: fmt.Errorf("the kernel reduced it to %d",
			got/2),
			How: fmt.Sprintf("%s, or: sysctl -w %s=%d", privilege.Fix(privilege.Machine, unix.CAP_NET_ADMIN), limit, n)}
	}
	return nil
}

func setCongestion(fd int, name string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	if err == nil {
		return nil
	}
	e := remedy.Error(remedy.SetCongestion, "setsockopt TCP_CONGESTION "+name, err, remedy.On{FD: fd, Value: name})
	if b, rerr := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control"); rerr == nil {
		e.How += "; available now: " + strings.TrimSpace(string(b))
	}
	return e
}

// Congestion returns the congestion control that the kernel uses for fd.
func Congestion(fd int) (string, error) {
	s, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return "", remedy.Error(remedy.GetOption, "getsockopt TCP_CONGESTION", err, remedy.On{FD: fd})
	}
	return s, nil
}

// UnmapAddr turns an IPv4-mapped address into plain IPv4.
func UnmapAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// HoldReceiveBuffer keeps a socket's receive buffer at the size that the kernel's auto-tuning has
// given it so far, and returns the size in bytes as the kernel counts it (sk_rcvbuf: with the
// memory that holds the payload). It needs CAP_NET_ADMIN: without, the system's limit could make
// the buffer smaller.
//
// Auto-tuning (net/ipv4/tcp_input.c: tcp_rcv_space_adjust) doubles what was read in a round trip.
// A flow that pauses is taken for one with a long round trip.
func HoldReceiveBuffer(fd int) (bytes int, err error) {
	if bytes, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
		return 0, remedy.Error(remedy.GetOption, "getsockopt SO_RCVBUF", err, remedy.On{FD: fd})
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes/2); err != nil { // it doubles that
		return 0, remedy.Error(remedy.SetBuffer, fmt.Sprintf("setsockopt SO_RCVBUFFORCE %d", bytes/2), err,
			remedy.On{FD: fd, Value: fmt.Sprint(bytes / 2)})
	}
	return bytes, nil
}
