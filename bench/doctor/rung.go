// SPDX-License-Identifier: MIT

package doctor

import (
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

// rungs look at what was found. A check without status does not bear on this host.
var rungs = map[stream.Need]func(*facts) wire.Check{
	stream.NeedCapability:     (*facts).capable,
	stream.NeedMemlock:        (*facts).locked,
	stream.NeedHugePages:      (*facts).hugePages,
	stream.NeedNotifications:  (*facts).notifications,
	stream.NeedUdmabuf:        (*facts).dmabuf,
	stream.NeedCUDA:           (*facts).cuda,
	stream.NeedROCm:           (*facts).rocm,
	stream.NeedRing:           (*facts).ring,
	stream.NeedZcrx:           (*facts).zcrx,
	stream.NeedZcrxNoDevice:   (*facts).zcrxNoDevice,
	stream.NeedLongBuffers:    (*facts).longBuffers,
	stream.NeedInterface:      (*facts).device,
	stream.NeedDriver:         (*facts).driverTable,
	stream.NeedFirmware:       (*facts).firmware,
	stream.NeedPCIe:           (*facts).pcie,
	stream.NeedNICIOMMU:       (*facts).deviceIOMMU,
	stream.NeedHeaderSplit:    (*facts).headerSplit,
	stream.NeedSplitThreshold: (*facts).threshold,
	stream.NeedPageMTU:        (*facts).pageMTU,
	stream.NeedScatterGather:  (*facts).scatterGather,
	stream.NeedQueues:         (*facts).enoughQueues,
	stream.NeedFreeQueue:      (*facts).freeQueue,
	stream.NeedRSS:            (*facts).rss,
	stream.NeedRules:          (*facts).ntuple,
	stream.NeedNoXDP:          (*facts).noXDP,
	stream.NeedProviders:      (*facts).provider,
	stream.NeedPktgen:         (*facts).pktgen,
	stream.NeedAFXDP:          (*facts).afXDP,
	stream.NeedNativeXDP:      (*facts).nativeXDP,
	stream.NeedXSKZeroCopy:    (*facts).xskZeroCopy,
}
