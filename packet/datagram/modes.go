// SPDX-License-Identifier: MIT

package datagram

import (
	"sync"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// The modes of this folder.
var (
	RX = stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram, Summary: "recvmmsg of datagrams",
		Traits:      stream.Batches,
		NewReceiver: stream.MakesReceiver(NewReceiver)}
	GRO = stream.Mode{Name: "udp-gro", Role: stream.RX, Kind: stream.Datagram,
		Summary: "recvmmsg with UDP_GRO: many datagrams in one buffer", Traits: stream.Batches,
		Kernel: "5.0", NewReceiver: stream.MakesReceiver(newGROReceiver)}
	Uring = stream.Mode{Name: "udp-uring", Role: stream.RX, Kind: stream.Datagram,
		Summary: "io_uring multishot recvmsg of datagrams with a provided-buffer ring", Traits: stream.UsesRing,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewReceiver: stream.MakesReceiver(newUringReceiver), Probe: probeUringReceiver}
	XSK = xskOf(stream.Mode{Name: "udp-xsk",
		Summary:     "sockets of AF_XDP: the kernel copies frames into the application's memory",
		NewReceiver: stream.MakesReceiver(newXSKReceiver)})
	XSKZeroCopy = xskOf(stream.Mode{Name: "udp-xsk-zc",
		Summary:     "sockets of AF_XDP with zero copy: the NIC writes frames into the application's memory",
		Traits:      stream.ZeroCopy,
		NewReceiver: stream.MakesReceiver(newXSKZeroCopyReceiver)})

	TX = stream.Mode{Name: "udp", Role: stream.TX, Kind: stream.Datagram, Summary: "sendmmsg of datagrams",
		Traits:    stream.Batches,
		NewSender: stream.MakesSender(NewSender)}
	GSO = stream.Mode{Name: "udp-gso", Role: stream.TX, Kind: stream.Datagram,
		Summary: "send with UDP_SEGMENT: many datagrams in one buffer", Traits: stream.Batches | stream.Segments,
		Kernel: "4.18", NewSender: stream.MakesSender(newGSOSender)}
	TripsTX = stream.Mode{Name: "udp-rr", Role: stream.TX, Kind: stream.Datagram,
		Summary:   "requests by datagrams, and the receiver's answers to them: round trips",
		Traits:    stream.Batches | stream.RoundTrips,
		NewSender: stream.MakesSender(newTripSender)}
	UringSend = stream.Mode{Name: "udp-uring", Role: stream.TX, Kind: stream.Datagram,
		Summary: "io_uring send of datagrams", Traits: stream.UsesRing | stream.Batches,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewSender: stream.MakesSender(newUringSender), Probe: probeUringSender}
)

var probed = sync.OnceValue(uring.Probe)

func probeUringReceiver() error {
	f := probed()
	return uring.Lacking("udp-uring", f.Ring, f.RecvMultishot)
}

func probeUringSender() error { return uring.Lacking("udp-uring", probed().Ring) }
