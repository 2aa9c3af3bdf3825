// SPDX-License-Identifier: MIT

package report

import "github.com/zcbench/zcbench/flow/stream"

// Modes of the tests' cells that take queues over, or move packets; those there are stand above
// this package.
func init() {
	stream.Register(stream.Mode{Name: "zcrx", Role: stream.RX, Ring: true, NICQueue: true, NeedsDev: true},
		stream.Mode{Name: "udp", Role: stream.RX, Kind: stream.Datagram}, stream.Mode{Name: "udp", Role: stream.TX, Kind: stream.Datagram})
}
