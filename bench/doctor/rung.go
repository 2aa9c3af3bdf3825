package doctor

import "github.com/zcbench/zcbench/bench/wire"

// Rung is one thing that a mode may need, by the name that ladders show.
type Rung string

// The rungs, of the host, of io_uring, of the interface and of its queues.
const (
	Capability     Rung = "capability"
	Memlock        Rung = "memlock limit"
	HugePages      Rung = "huge pages"
	Notifications  Rung = "net.core.optmem_max"
	Udmabuf        Rung = "udmabuf"
	Ring           Rung = "io_uring"
	Zcrx           Rung = "io_uring zero-copy receive"
	ZcrxNoDevice   Rung = "zcrx without a device"
	LongBuffers    Rung = "long buffers"
	Interface      Rung = "interface"
	Driver         Rung = "driver"
	Firmware       Rung = "firmware"
	PCIe           Rung = "PCIe"
	NICIOMMU       Rung = "IOMMU of the NIC"
	HeaderSplit    Rung = "header split"
	SplitThreshold Rung = "hds-thresh"
	PageMTU        Rung = "MTU"
	ScatterGather  Rung = "scatter-gather"
	Queues         Rung = "queues"
	FreeQueue      Rung = "free queue"
	RSS            Rung = "RSS"
	Rules          Rung = "ntuple rules"
	NoXDP          Rung = "XDP"
	Providers      Rung = "memory providers"
)

// rungs look at what was found. A check without status does not bear on this host.
var rungs = map[Rung]func(*facts) wire.Check{
	Capability:     (*facts).capable,
	Memlock:        (*facts).locked,
	HugePages:      (*facts).hugePages,
	Notifications:  (*facts).notifications,
	Udmabuf:        (*facts).dmabuf,
	Ring:           (*facts).ring,
	Zcrx:           (*facts).zcrx,
	ZcrxNoDevice:   (*facts).zcrxNoDevice,
	LongBuffers:    (*facts).longBuffers,
	Interface:      (*facts).device,
	Driver:         (*facts).driverTable,
	Firmware:       (*facts).firmware,
	PCIe:           (*facts).pcie,
	NICIOMMU:       (*facts).deviceIOMMU,
	HeaderSplit:    (*facts).headerSplit,
	SplitThreshold: (*facts).threshold,
	PageMTU:        (*facts).pageMTU,
	ScatterGather:  (*facts).scatterGather,
	Queues:         (*facts).enoughQueues,
	FreeQueue:      (*facts).freeQueue,
	RSS:            (*facts).rss,
	Rules:          (*facts).ntuple,
	NoXDP:          (*facts).noXDP,
	Providers:      (*facts).provider,
}
