// SPDX-License-Identifier: MIT

package devmem

import (
	"github.com/zcbench/zcbench/flow/stream"
)

// The modes.
var (
	RX = stream.Mode{Name: Mode, Role: stream.RX, Summary: "devmem TCP: the NIC writes into a dmabuf",
		Traits: stream.ZeroCopy | stream.UsesNICQueue | stream.NeedsDev | stream.SplitsHeaders | stream.DMABuf |
			stream.Accepts | stream.Forwards,
		Kernel: "6.12", Needs: append([]stream.Need{stream.NeedCapability, stream.NeedUdmabuf, stream.NeedCUDA,
			stream.NeedROCm,
			stream.NeedLongBuffers},
			stream.NeedsOfQueue...),
		NewReceiver: stream.MakesReceiver(New), Probe: Probe, ProbeDevice: ProbeDevice, ProbeProvider: ProbeProvider,
		ProbeQueue: probeQueue}
	TX = stream.Mode{Name: Mode, Role: stream.TX, Summary: "devmem TCP send from a dmabuf",
		Traits: stream.ZeroCopy | stream.NeedsDev | stream.ZeroCopySocket | stream.DMABuf,
		Kernel: "6.16", Needs: []stream.Need{stream.NeedCapability, stream.NeedUdmabuf, stream.NeedCUDA,
			stream.NeedROCm, stream.NeedInterface,
			stream.NeedDriver, stream.NeedScatterGather},
		NewSender: stream.MakesSender(NewSender), NewLender: NewLender, Probe: probeSend,
		ProbeDevice: ProbeSendDevice}
)
