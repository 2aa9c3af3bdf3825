// SPDX-License-Identifier: MIT

//go:build race

package stream

import "sync/atomic"

// store does atomically what that of store.go does with a plain store.
func store(c *uint64, n uint64) { atomic.StoreUint64(c, n) }
