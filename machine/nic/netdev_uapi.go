// SPDX-License-Identifier: MIT

package nic

// Numbers of include/uapi/linux/netdev.h, generic netlink family netdev
// (Documentation/netlink/specs/netdev.yaml).
const (
	cmdDevGet       = 1  // NETDEV_CMD_DEV_GET, 6.3
	cmdPagePoolGet  = 5  // NETDEV_CMD_PAGE_POOL_GET, 6.8
	cmdPoolStatsGet = 9  // NETDEV_CMD_PAGE_POOL_STATS_GET, 6.8
	cmdQueueGet     = 10 // NETDEV_CMD_QUEUE_GET, 6.8
	cmdNAPIGet      = 11 // NETDEV_CMD_NAPI_GET, 6.8
	cmdQStatsGet    = 12 // NETDEV_CMD_QSTATS_GET, 6.9
	cmdBindRX       = 13 // NETDEV_CMD_BIND_RX, 6.12
	cmdNAPISet      = 14 // NETDEV_CMD_NAPI_SET, 6.13
	cmdBindTX       = 15 // NETDEV_CMD_BIND_TX, 6.16
	cmdQueueCreate  = 16 // NETDEV_CMD_QUEUE_CREATE, 7.1
)

// NETDEV_A_DEV_*.
const (
	attrDevIfindex     = 1
	attrDevXDPFeatures = 3
)

// NETDEV_A_QUEUE_*.
const (
	attrQueueID      = 1
	attrQueueIfindex = 2
	attrQueueType    = 3
	attrQueueNAPI    = 4
	attrQueueDMABuf  = 5 // 6.12
	attrQueueIOUring = 6 // 6.15
	attrQueueXSK     = 7 // 6.15
	attrQueueLease   = 8 // 7.1
)

// NETDEV_A_LEASE_*.
const (
	attrLeaseIfindex = 1
	attrLeaseQueue   = 2 // NETDEV_A_QUEUE_ID and NETDEV_A_QUEUE_TYPE
	attrLeaseNetns   = 3
)

// NETDEV_A_NAPI_*.
const (
	attrNAPIIfindex  = 1
	attrNAPIID       = 2
	attrNAPIIRQ      = 3
	attrNAPIPID      = 4
	attrNAPIDefer    = 5 // 6.13
	attrNAPIFlush    = 6 // 6.13
	attrNAPISuspend  = 7 // 6.13
	attrNAPIThreaded = 8 // 6.17
)

// NETDEV_A_IO_URING_PROVIDER_INFO_*.
const attrProviderBufLen = 1 // 7.0

// NETDEV_A_PAGE_POOL_*.
const (
	attrPoolID          = 1
	attrPoolIfindex     = 2
	attrPoolNAPI        = 3
	attrPoolInflight    = 4
	attrPoolInflightMem = 5
	attrPoolDetach      = 6
	attrPoolDMABuf      = 7
	attrPoolIOUring     = 8
)

// NETDEV_A_PAGE_POOL_STATS_*.
const (
	attrPoolStatsInfo      = 1
	attrPoolStatsFast      = 8
	attrPoolStatsSlow      = 9
	attrPoolStatsHighOrder = 10
	attrPoolStatsEmpty     = 11
	attrPoolStatsRefill    = 12
	attrPoolStatsWaive     = 13
	attrPoolStatsCached    = 14
	attrPoolStatsCacheFull = 15
	attrPoolStatsRing      = 16
	attrPoolStatsRingFull  = 17
	attrPoolStatsReleased  = 18 // RECYCLE_RELEASED_REFCNT
)

// NETDEV_A_DMABUF_*.
const (
	attrDMABufIfindex = 1
	attrDMABufQueues  = 2
	attrDMABufFD      = 3
	attrDMABufID      = 4
	attrDMABufBufLen  = 5 // RX_PAGE_SIZE, 7.3
)

// NETDEV_A_QSTATS_*.
const (
	attrQStatsIfindex = 1
	attrQStatsType    = 2
	attrQStatsID      = 3
	attrQStatsScope   = 4
	attrQStatsPackets = 8 // RX_PACKETS, the first counter
)

// qstatNames are those of NETDEV_A_QSTATS_* from attrQStatsPackets on, in their order, as
// Documentation/netlink/specs/netdev.yaml calls them.
var qstatNames = [...]string{
	"rx-packets", "rx-bytes", "tx-packets", "tx-bytes", "rx-alloc-fail",
	"rx-hw-drops", "rx-hw-drop-overruns",
	"rx-csum-complete", "rx-csum-unnecessary", "rx-csum-none", "rx-csum-bad",
	"rx-hw-gro-packets", "rx-hw-gro-bytes", "rx-hw-gro-wire-packets", "rx-hw-gro-wire-bytes",
	"rx-hw-drop-ratelimits",
	"tx-hw-drops", "tx-hw-drop-errors", "tx-csum-none", "tx-needs-csum",
	"tx-hw-gso-packets", "tx-hw-gso-bytes", "tx-hw-gso-wire-packets", "tx-hw-gso-wire-bytes",
	"tx-hw-drop-ratelimits", "tx-stop", "tx-wake",
}

// Values: enum netdev_queue_type, enum netdev_qstats_scope.
const (
	queueRX    = 0
	scopeQueue = 1
)

// ETHTOOL_A_RSS_* of include/uapi/linux/ethtool_netlink_generated.h.
const (
	attrRSSContext = 2
	attrRSSIndir   = 4
	attrRSSStart   = 7 // START_CONTEXT, 6.12
)
