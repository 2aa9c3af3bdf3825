// SPDX-License-Identifier: MIT

// Package modes lists the modes there are. Each is declared in the folder of its code; what is
// not in this list does not exist: a mode never silently becomes another.
package modes

import (
	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/packet/datagram"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/tcpmmap"
	"github.com/zcbench/zcbench/zc/uringzc"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// In the order of tables.
func init() {
	stream.Register(baseline.TCP, baseline.Trunc, tcpmmap.RX, baseline.Uring, zcrx.RX, zcrx.NoDevice, devmem.RX,
		datagram.RX, datagram.GRO, datagram.Uring, datagram.XSK, datagram.XSKZeroCopy,
		xdp.DropMode, xdp.TXMode, xdp.RedirectMode, xdp.IngressMode, xdp.NetfilterMode, xdp.SinkMode, xdp.PassMode,
		xdp.RecvMode,
		baseline.TCPSend, baseline.Sendfile, msgzc.TX, baseline.UringSend, uringzc.TX, devmem.TX, datagram.TX,
		datagram.GSO, datagram.UringSend, xdp.Pktgen, xdp.KernelPktgen, baseline.RoundTrips, datagram.TripsTX)
}

// All lists every mode in table order.
func All() []stream.Mode { return stream.Modes }

// Find returns a mode. An unknown name is an error that lists the names.
func Find(role stream.Role, name string) (stream.Mode, error) { return stream.LookupMode(role, name) }
