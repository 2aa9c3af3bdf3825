package doctor

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
)

// Needs is what a mode stands on: a version of Linux, and rungs, the bottom one first.
type Needs struct {
	Kernel string // the first that can; "": all can
	Rungs  []Rung
}

// TakesQueue are the rungs of a mode that takes a queue of a NIC over.
var TakesQueue = []Rung{Interface, Driver, Firmware, PCIe, NICIOMMU, HeaderSplit,
	SplitThreshold, Queues, FreeQueue, RSS, Rules, NoXDP, Providers, PageMTU}

// needs are those of all modes.
var needs = map[stream.Role]map[string]Needs{
	stream.RX: {
		"tcp":        {},
		"tcp-trunc":  {},
		"tcp-mmap":   {"4.18", []Rung{Interface, HeaderSplit, PageMTU}},
		"uring":      {"6.0", []Rung{Ring, Memlock}},
		"zcrx":       {"6.15", slices.Concat([]Rung{Capability, Memlock, HugePages, Ring, Zcrx, LongBuffers}, TakesQueue)},
		"zcrx-nodev": {"7.1", []Rung{Capability, Memlock, Ring, Zcrx, ZcrxNoDevice}},
		"devmem":     {"6.12", slices.Concat([]Rung{Capability, Udmabuf}, TakesQueue)},
	},
	stream.TX: {
		"tcp":          {},
		"sendfile":     {},
		"msg-zerocopy": {"4.14", []Rung{Notifications, ScatterGather}},
		"uring":        {"6.0", []Rung{Ring, Memlock}},
		"uring-zc":     {"6.0", []Rung{Ring, Memlock, ScatterGather}},
		"devmem":       {"6.16", []Rung{Capability, Udmabuf, Interface, Driver, ScatterGather}},
	},
}
