// SPDX-License-Identifier: MIT

// Package modes lists the modes there are, and the transports that open their flows. Each is
// declared in the folder of its code; what is not in this list does not exist: a mode never
// silently becomes another.
package modes

import (
	"fmt"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/packet/datagram"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/tcpmmap"
	"github.com/zcbench/zcbench/zc/uringzc"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// All are the modes by the names of the field, in the order of tables.
var All = []stream.Mode{
	baseline.TCP, baseline.Trunc, tcpmmap.RX, baseline.Uring, zcrx.RX, zcrx.NoDevice, devmem.RX,
	datagram.RX, datagram.GRO, datagram.Uring, datagram.XSK, datagram.XSKZeroCopy,
	xdp.DropMode, xdp.TXMode, xdp.RedirectMode, xdp.IngressMode, xdp.NetfilterMode, xdp.SinkMode, xdp.PassMode,
	xdp.RecvMode,
	baseline.TCPSend, baseline.Sendfile, msgzc.TX, baseline.UringSend, uringzc.TX, devmem.TX, datagram.TX,
	datagram.GSO, datagram.UringSend, xdp.Pktgen, xdp.KernelPktgen, baseline.RoundTrips,
	baseline.TripsOf(msgzc.TX), baseline.TripsOf(uringzc.TX), baseline.TripsOf(devmem.TX), baseline.Connections,
	datagram.TripsTX,
}

// Transports are how flows are opened, by what the modes carry.
var Transports = map[stream.Kind]stream.Transport{
	stream.Stream:   stream.TCP{},
	stream.Datagram: datagram.Transport{},
	stream.Frame:    xdp.Transport{},
}

// Names lists the modes of a role in table order.
func Names(role stream.Role) []string {
	var names []string
	for i := range All {
		if All[i].Role == role {
			names = append(names, All[i].Name)
		}
	}
	return names
}

// Lenders lists the send modes of requests whose answers leave without a copy, too.
func Lenders() (names []string) {
	for i := range All {
		if All[i].Lends() {
			names = append(names, All[i].Name)
		}
	}
	return names
}

// Find looks up a mode by role and name. The error lists the names.
func Find(role stream.Role, name string) (stream.Mode, error) {
	for i := range All {
		if All[i].Role == role && All[i].Name == name {
			return All[i], nil
		}
	}
	return stream.Mode{}, fmt.Errorf("unknown %s mode %q%s", role, name,
		near.Instead(name, string(role)+" modes", Names(role)))
}
