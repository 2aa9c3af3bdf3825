// SPDX-License-Identifier: MIT

package baseline

import "github.com/zcbench/zcbench/flow/stream"

// The modes of this folder.
var (
	TCP = stream.Mode{Name: "tcp", Role: stream.RX, Summary: "recv into a user buffer",
		Traits:      stream.Buffered | stream.Accepts | stream.Forwards | stream.Splices | stream.Encrypts,
		Holds:       bufferBytes,
		NewReceiver: stream.MakesReceiver(NewTCPReceiver)}
	Trunc = stream.Mode{Name: "tcp-trunc", Role: stream.RX,
		Summary:     "recv with MSG_TRUNC: the kernel drops the payload; the ceiling without a copy",
		Traits:      stream.NoPayload,
		NewReceiver: stream.MakesReceiver(newTruncReceiver)}
	Uring = stream.Mode{Name: "uring", Role: stream.RX, Summary: "io_uring multishot recv with a provided-buffer ring",
		Traits: stream.UsesRing | stream.Buffered | stream.Forwards | stream.Encrypts, Holds: uringBytes,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewReceiver: stream.MakesReceiver(NewUringReceiver), Probe: probeUringReceiver}

	TCPSend = stream.Mode{Name: "tcp", Role: stream.TX, Summary: "send from a user buffer", Traits: stream.Encrypts,
		NewSender: stream.MakesSender(NewTCPSender)}
	RoundTrips = stream.Mode{Name: "rr", Role: stream.TX,
		Summary:   "round trips: requests by send, and the receiver's answers",
		Traits:    stream.RoundTrips | stream.Encrypts,
		NewSender: stream.MakesSender(newRRSender)}
	Connections = stream.Mode{Name: "crr", Role: stream.TX,
		Summary: "a connection for each request: connect, request, response, close",
		Traits:  stream.RoundTrips | stream.Connects, Kernel: "5.11", NewSender: stream.MakesSender(newCRRSender)}
	Sendfile = stream.Mode{Name: "sendfile", Role: stream.TX, Summary: "sendfile from page cache memory",
		NewSender: stream.MakesSender(NewSendfileSender)}
	UringSend = stream.Mode{Name: "uring", Role: stream.TX, Summary: "io_uring send",
		Traits: stream.UsesRing | stream.Encrypts,
		Kernel: "6.0", Needs: []stream.Need{stream.NeedRing, stream.NeedMemlock},
		NewSender: stream.MakesSender(newUringSender), Probe: probeUringSender}
)
