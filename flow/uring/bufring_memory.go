// SPDX-License-Identifier: MIT

package uring

// Memory is that of all buffers.
func (b *BufRing) Memory() []byte { return b.bufMem.Bytes() }
