// SPDX-License-Identifier: MIT

package nic

// longest are the longest receive buffers that drivers let a memory provider choose, as read
// in Linux 7.3.4 (drivers/net/ethernet, supported_params of their netdev_queue_mgmt_ops);
// a page: the driver takes no others.
var longest = map[string]int{
	"bnxt_en":   32 << 10,  // BNXT_MAX_RX_PAGE_SIZE of bnxt.h; P5 and later alone (bnxt_validate_qcfg)
	"mlx5_core": 128 << 10, // mlx5e_mpwrq_max_page_size of en/params.c
	"gve":       pageBytes,
	"fbnic":     pageBytes,
}

// LongestBuffers is the length of the longest receive buffers that a driver, of a name that
// [Driver.Model] gives, lets a memory provider choose. known is false where it is not known.
func LongestBuffers(model string) (bytes int, known bool) {
	bytes, known = longest[model]
	return bytes, known
}
