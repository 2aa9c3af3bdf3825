// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"os"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
)

// buffersSince is the kernel that lets a mode choose the length of the NIC's buffers.
var buffersSince = map[string]string{"zcrx": "7.0", "devmem": "7.3"}

// longBuffers checks what --rx-buf-len needs of kernel and driver.
func (f *facts) longBuffers() wire.Check {
	since := buffersSince[f.mode]
	c := wire.Check{Needed: "Linux " + since + " and a driver that supports them; only needed for --rx-buf-len",
		Status: "ok"}
	most, known := f.driver.LongestBuffer()
	switch {
	case !f.bufLen[f.mode]:
		c.Status, c.Found, c.Fix = "warn", "a page only", "use Linux "+since+" or later, or leave out --rx-buf-len"
	case !known:
		c.Found = "the kernel supports buffers longer than a page; the driver must, too"
	case most <= os.Getpagesize():
		c.Status, c.Found, c.Fix = "warn", f.driver.Name+" takes only buffers of one page", "leave out --rx-buf-len"
	default:
		c.Found = fmt.Sprintf("%s takes buffers of up to %d KiB", f.driver.Name, most>>10)
	}
	return c
}

// sizesBuffers asks the kernel which modes may choose the length of buffers.
func sizesBuffers() map[string]bool {
	return map[string]bool{"zcrx": recorded("zero-copy receive of io_uring", uring.QueryZcrx).BufLen,
		"devmem": nic.CanSizeBuffers() == nil}
}
