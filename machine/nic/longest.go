// SPDX-License-Identifier: MIT

package nic

// longest are the longest receive buffers that queues of a driver take (rx_page_size), in
// bytes, as its ndo_validate_qcfg says, Linux 7.3.4; a page, where it has none.
var longest = map[string]int{
	"bnxt_en":   32 << 10,  // bnxt_validate_qcfg; chips before P5 (Thor) take a page alone, and say EINVAL
	"mlx5_core": 128 << 10, // mlx5e_queue_validate_qcfg, mlx5e_mpwrq_max_page_size; on a DPU's own side a page
	"gve":       pageBytes,
	"fbnic":     pageBytes,
}

// LongestBuffer is the longest receive buffer that the driver's queues take. ok is false
// where that is not known.
func (d Driver) LongestBuffer() (bytes int, ok bool) {
	bytes, ok = longest[d.Model()]
	return bytes, ok
}
