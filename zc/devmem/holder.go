// SPDX-License-Identifier: MIT

package devmem

import "github.com/zcbench/zcbench/flow/stream"

var (
	_ stream.Holder = (*Receiver)(nil)
	_ stream.Holder = (*Sender)(nil)
)

// Memory returns what the NIC writes into; nil where it is a device's.
func (r *Receiver) Memory() []byte { return r.mem.Bytes }

// Memory returns what the NIC reads from.
func (s *Sender) Memory() []byte { return s.mem.Bytes }
