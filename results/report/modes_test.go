// SPDX-License-Identifier: MIT

package report

import "github.com/zcbench/zcbench/flow/stream"

// A mode of the tests' cells that takes queues over; those there are stand above this package.
func init() {
	stream.Register(stream.Mode{Name: "zcrx", Role: stream.RX, Ring: true, NICQueue: true, NeedsDev: true})
}
