// SPDX-License-Identifier: MIT

package plan

import "github.com/zcbench/zcbench/flow/stream"

// The modes that the tests of options need; those there are stand above this package.
func init() {
	stream.Register(
		stream.Mode{Name: "tcp", Role: stream.RX, Buffered: true},
		stream.Mode{Name: "uring", Role: stream.RX, Ring: true, Buffered: true},
		stream.Mode{Name: "zcrx", Role: stream.RX, Ring: true, NICQueue: true, NeedsDev: true, SplitsHeaders: true},
		stream.Mode{Name: "zcrx-nodev", Role: stream.RX, Ring: true, NICQueue: true},
		stream.Mode{Name: "devmem", Role: stream.RX, NICQueue: true, NeedsDev: true, SplitsHeaders: true, DMABuf: true},
		stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram, Batches: true},
		stream.Mode{Name: "tcp", Role: stream.TX},
		stream.Mode{Name: "uring", Role: stream.TX, Ring: true},
		stream.Mode{Name: "uring-zc", Role: stream.TX, Ring: true},
		stream.Mode{Name: "devmem", Role: stream.TX, NeedsDev: true},
		stream.Mode{Name: "rr", Role: stream.TX, RoundTrips: true},
		stream.Mode{Name: "udp", Role: stream.TX, Kind: stream.Datagram, Batches: true},
		stream.Mode{Name: "udp-gso", Role: stream.TX, Kind: stream.Datagram, Batches: true, Segments: true},
		stream.Mode{Name: "udp-rr", Role: stream.TX, Kind: stream.Datagram, Batches: true, RoundTrips: true},
		stream.Mode{Name: "xdp-drop", Role: stream.RX, Kind: stream.Frame, XDP: true},
		stream.Mode{Name: "xdp-redirect", Role: stream.RX, Kind: stream.Frame, XDP: true, Redirects: true},
		stream.Mode{Name: "xdp-tx", Role: stream.RX, Kind: stream.Frame, XDP: true, SendsBack: true},
		stream.Mode{Name: "udp-recv", Role: stream.RX, Kind: stream.Frame, Reads: true},
		stream.Mode{Name: "pktgen-xdp", Role: stream.TX, Kind: stream.Frame},
	)
}
