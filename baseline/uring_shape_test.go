// SPDX-License-Identifier: MIT

package baseline

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// Asked for, the buffers together are that large, whatever the sender's messages are.
func TestUringBuffersAsked(t *testing.T) {
	for _, c := range []struct{ buffer, message, read, n, size int }{
		{256 << 10, 64 << 20, 0, 8, 32 << 10}, // hot
		{64 << 20, 1, 0, 256, 256 << 10},      // cold
		{16 << 10, 64 << 20, 0, 8, 2 << 10},
		{3 << 20, 64 << 20, 0, 16, 192 << 10},
		{1 << 20, 64 << 20, 4096, 256, 4096},
	} {
		if n, size := uringLayout(stream.Options{BufferBytes: c.buffer, MessageBytes: c.message,
			ReadBytes: c.read}); n != c.n || size != c.size {
			t.Errorf("a buffer of %d: %d of %d, not %d of %d", c.buffer, n, size, c.n, c.size)
		}
	}
}
