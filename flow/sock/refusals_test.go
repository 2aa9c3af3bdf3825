// SPDX-License-Identifier: MIT

package sock

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give to an option has the table's words, and names the option.
func TestRefusedOptions(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	ep, err := NewEpoll()
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	apply := func(o Options) func() error { return func() error { return o.Apply(fd) } }
	for _, x := range []struct {
		call   remedy.Call
		nr     uint32
		object string
		do     func() error
	}{
		{remedy.SetBuffer, unix.SYS_SETSOCKOPT, "SO_RCVBUF 65536", apply(Options{RcvBuf: 1 << 16})},
		{remedy.SetCongestion, unix.SYS_SETSOCKOPT, "TCP_CONGESTION cubic", apply(Options{Congestion: "cubic"})},
		{remedy.SetLowat, unix.SYS_SETSOCKOPT, "TCP_NOTSENT_LOWAT", apply(Options{PaceBitsPS: 1e9})},
		{remedy.SetBusyPoll, unix.SYS_SETSOCKOPT, "SO_BUSY_POLL 50", apply(Options{BusyPollUs: 50})},
		{remedy.SetBusyPoll, unix.SYS_SETSOCKOPT, "SO_BUSY_POLL 50", apply(Options{BusyPollUs: 50, BusyBudget: 64})},
		{remedy.EpollParams, unix.SYS_IOCTL, "EPIOCSPARAMS 50 us", func() error { return ep.Poll(50, 64) }},
		{remedy.SetZeroCopy, unix.SYS_SETSOCKOPT, "SO_ZEROCOPY", apply(Options{ZeroCopy: true})},
		{remedy.SetTimeout, unix.SYS_SETSOCKOPT, "SO_RCVTIMEO", func() error { return Blocking(fd, time.Hour) }},
		{remedy.SetSegment, unix.SYS_SETSOCKOPT, "UDP_SEGMENT", func() error { return SegmentUDP(fd, 1000) }},
		{remedy.SetGather, unix.SYS_SETSOCKOPT, "UDP_GRO", func() error { return GatherUDP(fd) }},
		{remedy.GetOption, unix.SYS_GETSOCKOPT, "TCP_CONGESTION",
			func() error { _, err := Congestion(fd); return err }},
		{remedy.Fcntl, unix.SYS_FCNTL, "fcntl F_SETFL", func() error { return Blocking(fd, time.Hour) }},
	} {
		remedytest.Try(t, x.call, x.object, remedytest.Denied(x.nr, x.do), unix.EINTR)
	}
}
