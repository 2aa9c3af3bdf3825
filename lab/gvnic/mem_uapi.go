// SPDX-License-Identifier: MIT

package gvnic

import (
	"sync/atomic"
	"unsafe"
)

// publish stores 8 bytes in one go, after all that was written before: the bit in them by which
// the driver sees that a descriptor is there, comes last. b is aligned: see the checks of rings.
func publish(b []byte, v uint64) {
	_ = b[7]
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), v)
}
