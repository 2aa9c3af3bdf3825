// SPDX-License-Identifier: MIT

package baseline

import "github.com/zcbench/zcbench/flow/stream"

var (
	_ stream.Holder = (*TCPReceiver)(nil)
	_ stream.Holder = (*UringReceiver)(nil)
)

// Memory returns the buffer that payload is copied to.
func (r *TCPReceiver) Memory() []byte { return r.buf.Bytes() }

// Memory returns the memory of the ring's buffers.
func (r *UringReceiver) Memory() []byte { return r.bufs.Memory() }
