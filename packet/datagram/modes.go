// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"sync"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

// The modes of this folder.
var (
	RX = stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram, Summary: "recvmmsg of datagrams", Batches: true,
		NewReceiver: stream.MakesReceiver(NewReceiver)}
	GRO = stream.Mode{Name: "udp-gro", Role: stream.RX, Kind: stream.Datagram, Summary: "recvmmsg with UDP_GRO: many datagrams in one piece", Batches: true,
		Kernel: "5.0", NewReceiver: stream.MakesReceiver(NewGROReceiver), Probe: probeOption("udp-gro", "UDP_GRO", sock.GatherUDP)}
	Uring = stream.Mode{Name: "udp-uring", Role: stream.RX, Kind: stream.Datagram, Summary: "io_uring multishot recvmsg of datagrams with a provided-buffer ring", Ring: true,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewReceiver: stream.MakesReceiver(NewUringReceiver), Probe: probeUringReceiver}

	TX = stream.Mode{Name: "udp", Role: stream.TX, Kind: stream.Datagram, Summary: "sendmmsg of datagrams", Batches: true,
		NewSender: stream.MakesSender(NewSender)}
	GSO = stream.Mode{Name: "udp-gso", Role: stream.TX, Kind: stream.Datagram, Summary: "send with UDP_SEGMENT: many datagrams in one piece", Batches: true, Segments: true,
		Kernel: "4.18", NewSender: stream.MakesSender(NewGSOSender), Probe: probeOption("udp-gso", "UDP_SEGMENT", func(fd int) error { return sock.SegmentUDP(fd, stream.DefaultDatagramBytes) })}
	UringSend = stream.Mode{Name: "udp-uring", Role: stream.TX, Kind: stream.Datagram, Summary: "io_uring send of datagrams", Ring: true, Batches: true,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewSender: stream.MakesSender(NewUringSender), Probe: probeUringSender}
)

// probeOption tries to set an option of a socket.
func probeOption(mode, name string, set func(fd int) error) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return &fault.Unsupported{Mode: mode, Op: "open a socket of UDP", Err: err, How: "see what forbids it: seccomp, the limit of open files"}
		}
		defer unix.Close(fd)
		if err := set(fd); err != nil {
			return &fault.Unsupported{Mode: mode, Op: "setsockopt " + name, Err: errors.Unwrap(err), How: fault.Fix(err)}
		}
		return nil
	}
}

var probed = sync.OnceValue(uring.Probe)

func probeUringReceiver() error {
	f := probed()
	return uring.Lacking("udp-uring", f.Ring, f.RecvMultishot)
}

func probeUringSender() error { return uring.Lacking("udp-uring", probed().Ring) }
