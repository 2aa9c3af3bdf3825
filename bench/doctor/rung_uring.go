// SPDX-License-Identifier: MIT

package doctor

import (
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
)

// feature is what the kernel said of a feature of io_uring.
func feature(x uring.Feature) wire.Check {
	c := wire.Check{Status: "ok", Found: "works", Needed: "Linux " + x.Kernel}
	if !x.Supported {
		c.Status, c.Found, c.Fix = "lacking", x.Reason, x.Fix
		if x.Errno != 0 {
			c.Errno = fault.ErrnoName(x.Errno)
		}
	}
	return c
}

func (f *facts) ring() wire.Check         { return feature(f.uring.Ring) }
func (f *facts) zcrx() wire.Check         { return feature(f.uring.Zcrx) }
func (f *facts) zcrxNoDevice() wire.Check { return feature(f.uring.ZcrxNoDevice) }

// longBuffers is what --rx-buf-len needs of the kernel; the driver decides.
func (f *facts) longBuffers() wire.Check {
	c := wire.Check{Needed: "Linux 7.0, for --rx-buf-len alone", Found: "the kernel knows buffers longer than a page; the driver must, too", Status: "ok"}
	if !f.bufLen {
		c.Status, c.Found, c.Fix = "warn", "a page only", "use Linux 7.0 or later, or leave --rx-buf-len out"
	}
	return c
}
