// SPDX-License-Identifier: MIT

package report

import "github.com/zcbench/zcbench/flow/stream"

// Modes of the tests' cells that take queues over, or move packets; those there are stand above
// this package.
func init() {
	stream.Register(stream.Mode{Name: "zcrx", Role: stream.RX, Ring: true, NICQueue: true, NeedsDev: true},
		stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram}, stream.Mode{Name: "udp", Role: stream.TX,
			Kind: stream.Datagram},
		stream.Mode{Name: "drop", Role: stream.RX, Kind: stream.Frame, XDP: true},
		stream.Mode{Name: "back", Role: stream.RX, Kind: stream.Frame, XDP: true, Above: "drop"},
		stream.Mode{Name: "elsewhere", Role: stream.RX, Kind: stream.Frame, XDP: true, Redirects: true, Above: "drop"},
		stream.Mode{Name: "ingress", Role: stream.RX, Kind: stream.Frame, Above: "drop"},
		stream.Mode{Name: "hook", Role: stream.RX, Kind: stream.Frame, Above: "ingress"},
		stream.Mode{Name: "sink", Role: stream.RX, Kind: stream.Frame, Above: "hook"},
		stream.Mode{Name: "pass", Role: stream.RX, Kind: stream.Frame, XDP: true, Above: "sink"},
		stream.Mode{Name: "rr", Role: stream.TX, RoundTrips: true},
		stream.Mode{Name: "gen", Role: stream.TX, Kind: stream.Frame})
}
