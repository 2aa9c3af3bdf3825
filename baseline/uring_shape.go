// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// uringShape is how the receive mode uring takes payload.
type uringShape struct {
	buffers, size int  // how many, a power of two, and bytes of each
	incremental   bool // the kernel fills each piece by piece (6.12)
	bundle        bool // one completion may cover several (6.10)
	ring          uring.Options
}

const (
	minUringBuffers = 8
	smallUringBytes = 128 << 10 // no buffer is made smaller than this, nor are all together, unless that was asked for
	maxUringBuffers = 4096
	uringGroup      = 0
)

// shapeOf chooses the shape for what was asked. The buffers together are as large as was asked for,
// or else as one message, but no smaller than smallUringBytes, and no fewer than minUringBuffers.
// Each is as large as one read of the mode tcp; where a read is most of a message, smaller, but not
// by much: what a receive costs is most of all how few bytes it brings, and the kernel takes as
// many buffers for one as there are (docs/versus.md). That it ends the request when it could have
// taken the last one, needed or not (REQ_F_BL_EMPTY of io_uring/kbuf.c, 6.18), costs less.
func shapeOf(o stream.Options) uringShape {
	s := uringShape{bundle: true, ring: uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: 8,
		CQEntries:    maxUringBuffers,
		SingleIssuer: true, DeferTaskrun: true, SubmitAll: true, RegisterFD: true}}
	s.buffers, s.size = uringLayout(o)
	return s
}

// sealedBytes is how much the buffers hold together of what is decrypted at once.
const sealedBytes = 2 << 20

// uringBytes returns how large the buffers are together.
func uringBytes(o stream.Options) int { n, size := uringLayout(o); return n * size }

// uringLayout computes how many buffers there are, a power of two, and of what size.
func uringLayout(o stream.Options) (n, size int) {
	if o.TLS == records.User { // the message is elsewhere
		o.MessageBytes, o.BufferBytes = min(bufferBytes(o), sealedBytes), 0
	}
	all, least := bufferBytes(o), smallUringBytes
	if o.BufferBytes > 0 {
		least = 0 // all together are what was asked for
	}
	size = min(readBytes(o), max(least, all/minUringBuffers))
	n = minUringBuffers
	for n < maxUringBuffers && n*size < max(least, all) {
		n *= 2
	}
	if o.BufferBytes > 0 {
		size = min(size, all/n)
	}
	return n, size
}
