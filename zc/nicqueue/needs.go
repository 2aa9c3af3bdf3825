// SPDX-License-Identifier: MIT

package nicqueue

// Needs is what taking over a queue of a NIC stands on, see [stream.Mode].
var Needs = []string{"device", "driver", "firmware", "PCIe", "IOMMU", "header split", "threshold", "queues", "free queue", "RSS", "ntuple", "XDP", "provider", "page MTU"}
