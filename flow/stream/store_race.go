// SPDX-License-Identifier: MIT

//go:build race

package stream

import "sync/atomic"

// store is described in store.go.
func store(c *uint64, n uint64) { atomic.StoreUint64(c, n) }
