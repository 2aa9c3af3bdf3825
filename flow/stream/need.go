// SPDX-License-Identifier: MIT

package stream

// Need is one thing that a mode may stand on, by the name that zcbench doctor shows. What it
// looks at for it is in bench/doctor.
type Need string

// What there is to need: of the host, of io_uring, of the interface and of its queues.
const (
	NeedCapability     Need = "capability"
	NeedMemlock        Need = "memlock limit"
	NeedHugePages      Need = "huge pages"
	NeedNotifications  Need = "net.core.optmem_max"
	NeedUdmabuf        Need = "udmabuf"
	NeedCUDA           Need = "memory of an NVIDIA GPU"
	NeedROCm           Need = "memory of an AMD GPU"
	NeedRing           Need = "io_uring"
	NeedZcrx           Need = "io_uring zero-copy receive"
	NeedZcrxNoDevice   Need = "zcrx without a device"
	NeedLongBuffers    Need = "long buffers"
	NeedInterface      Need = "interface"
	NeedDriver         Need = "driver"
	NeedFirmware       Need = "firmware"
	NeedPCIe           Need = "PCIe"
	NeedNICIOMMU       Need = "IOMMU of the NIC"
	NeedHeaderSplit    Need = "header split"
	NeedSplitThreshold Need = "hds-thresh"
	NeedPageMTU        Need = "MTU"
	NeedScatterGather  Need = "scatter-gather"
	NeedQueues         Need = "queues"
	NeedFreeQueue      Need = "free queue"
	NeedRSS            Need = "RSS"
	NeedRules          Need = "ntuple rules"
	NeedNoXDP          Need = "XDP"
	NeedProviders      Need = "memory providers"
	NeedPktgen         Need = "pktgen"
	NeedAFXDP          Need = "AF_XDP"
	NeedNativeXDP      Need = "native XDP"
	NeedXSKZeroCopy    Need = "AF_XDP zero copy"
)

// NeedsOfQueue is what taking over a queue of a NIC stands on, the lowest first.
var NeedsOfQueue = []Need{NeedInterface, NeedDriver, NeedFirmware, NeedPCIe, NeedNICIOMMU, NeedHeaderSplit,
	NeedSplitThreshold, NeedQueues, NeedFreeQueue, NeedRSS, NeedRules, NeedNoXDP, NeedProviders, NeedPageMTU}
