// SPDX-License-Identifier: MIT

package compare

import (
	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
)

// The modes of the tests' cells; those there are stand above this package.
func init() {
	stream.Register(
		stream.Mode{Name: "tcp", Role: stream.RX, Buffered: true, Holds: baseline.TCP.Holds},
		stream.Mode{Name: "uring", Role: stream.RX, Ring: true, Buffered: true, Holds: baseline.Uring.Holds},
		stream.Mode{Name: "zcrx", Role: stream.RX, Ring: true, NICQueue: true, NeedsDev: true},
		stream.Mode{Name: "tcp", Role: stream.TX},
		stream.Mode{Name: "sendfile", Role: stream.TX},
		stream.Mode{Name: "msg-zerocopy", Role: stream.TX},
		stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram},
		stream.Mode{Name: "udp", Role: stream.TX, Kind: stream.Datagram},
	)
}
