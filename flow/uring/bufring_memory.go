// SPDX-License-Identifier: MIT

package uring

// Memory returns the memory of all buffers.
func (b *BufRing) Memory() []byte { return b.bufMem.Bytes() }
