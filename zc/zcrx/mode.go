// SPDX-License-Identifier: MIT

package zcrx

import (
	"github.com/zcbench/zcbench/flow/stream"
)

// The modes.
var (
	RX = stream.Mode{Name: Mode, Role: stream.RX,
		Summary: "io_uring zero-copy receive: the NIC writes into user memory",
		Traits: stream.ZeroCopy | stream.UsesRing | stream.UsesNICQueue | stream.NeedsDev | stream.SplitsHeaders |
			stream.Accepts | stream.Forwards | stream.Encrypts,
		Kernel: "6.15", Needs: append([]stream.Need{stream.NeedCapability, stream.NeedMemlock, stream.NeedHugePages,
			stream.NeedRing, stream.NeedZcrx, stream.NeedCUDA, stream.NeedROCm, stream.NeedLongBuffers},
			stream.NeedsOfQueue...),
		NewReceiver: stream.MakesReceiver(New), Probe: probe, ProbeDevice: ProbeDevice, ProbeProvider: ProbeProvider,
		ProbeQueue: probeQueue}
	NoDevice = stream.Mode{Name: ModeNoDevice, Role: stream.RX,
		Summary: "io_uring zcrx without a device queue: same interface, all payload copied",
		Traits:  stream.UsesRing | stream.UsesNICQueue | stream.Encrypts,
		Kernel:  "7.1", Needs: []stream.Need{stream.NeedCapability, stream.NeedMemlock, stream.NeedRing,
			stream.NeedZcrx,
			stream.NeedZcrxNoDevice},
		NewReceiver: stream.MakesReceiver(NewNoDevice), Probe: ProbeNoDevice}
)
