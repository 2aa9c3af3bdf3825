// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	mathbits "math/bits"
)

// PayloadRing is the ring of an RX queue whose buffers payload is written into: memory
// for the queue must fill it.
type PayloadRing struct {
	Buffers int    // of the length asked for
	param   string // by which it is sized: rx, rx-jumbo
	entries int    // of that
}

// Most is the command that makes it one of at most n buffers.
func (p PayloadRing) Most(dev string, n int) string {
	entries := 1
	if p.Buffers > 0 {
		entries = max(int(int64(p.entries)*int64(n)/int64(p.Buffers)), 1)
	}
	return fmt.Sprintf("ethtool -G %s %s %d", dev, p.param, entries)
}

// PayloadRing reads how many buffers of bufLen bytes the driver fills an RX queue's ring
// with, as header split is set now.
func (d *Device) PayloadRing(bufLen int) (PayloadRing, error) {
	r, err := d.Rings()
	if err != nil {
		return PayloadRing{}, err
	}
	l, err := d.Link()
	if err != nil {
		return PayloadRing{}, err
	}
	drv, _ := d.Driver() // one without a name has no rule of its own
	return payloadRing(drv.Model(), r, l.MTU, bufLen), nil
}

// What follows was read in Linux 7.3.4, drivers/net/ethernet.
const (
	bnxtAggFactor = 4    // bnxt_set_ring_params of bnxt.c: 65536 / BNXT_RX_PAGE_SIZE, 4 at most
	bnxtMaxRX     = 2047 // BNXT_MAX_RX_DESC_CNT_JUM_ENA of bnxt.h
	bnxtMaxAgg    = 8191 // BNXT_MAX_RX_JUM_DESC_CNT
)

// payloadRing follows the drivers. A ring of jumbo buffers, where one is told, is the one
// that payload goes to: bnxt's aggregation ring and fbnic's payload ring. bnxt has its
// ring from the moment when headers are split, and fewer, longer buffers in it
// (bnxt_rx_agg_ring_fill_level).
func payloadRing(model string, r Rings, mtu, bufLen int) PayloadRing {
	switch {
	case model == "bnxt_en":
		split := min(bnxtAggFactor*min(r.RX, bnxtMaxRX), bnxtMaxAgg)
		return PayloadRing{max(r.RXJumbo, split) / max(bufLen/pageBytes, 1), "rx", r.RX}
	case model == "mlx5_core":
		return PayloadRing{(mlx5Bytes(r.RX, mtu) + bufLen - 1) / bufLen, "rx", r.RX}
	case model == "gve" && r.RXBufLen > 0:
		// gve_alloc_from_page_pool of gve_buffer_mgmt_dqo.c: two of 2048 bytes share a page
		return PayloadRing{(r.RX*r.RXBufLen + bufLen - 1) / bufLen, "rx", r.RX}
	case r.RXJumbo > 0:
		return PayloadRing{r.RXJumbo, "rx-jumbo", r.RXJumbo}
	}
	return PayloadRing{r.RX, "rx", r.RX}
}

// pageBytes is the page of the machines whose drivers these are.
const pageBytes = 4096

// mlx5Bytes is the memory of mlx5's ring, which counts frames: each has a stride of the
// next power of two above headroom, frame and the kernel's end of it
// (mlx5e_rx_get_linear_stride_sz of en/params.c), and the ring has 4 entries of 256 KiB
// at least (MLX5E_PARAMS_MINIMUM_LOG_RQ_SIZE_MPW).
func mlx5Bytes(frames, mtu int) int {
	const (
		headroom, hard = 64, 22 // NET_SKB_PAD; Ethernet, VLAN and checksum
		shared         = 320    // struct skb_shared_info
		least          = 4 * 256 << 10
	)
	frame := (headroom+mtu+hard+63)&^63 + shared
	return max(frames<<mathbits.Len(uint(frame-1)), least)
}
