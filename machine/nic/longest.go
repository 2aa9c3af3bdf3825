// SPDX-License-Identifier: MIT

package nic

// LongestBuffer returns the longest receive buffer that the driver's queues take (rx_page_size), in
// bytes. ok is false where that is not known.
func (d Driver) LongestBuffer() (bytes int, ok bool) {
	bytes = d.Ways().LongestBuffer
	return bytes, bytes > 0
}
