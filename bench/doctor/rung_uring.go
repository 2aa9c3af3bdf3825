// SPDX-License-Identifier: MIT

package doctor

import (
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
)

// feature converts what the kernel said of a feature of io_uring.
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
