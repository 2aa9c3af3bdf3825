// SPDX-License-Identifier: MIT

package zcrx

import "github.com/zcbench/zcbench/flow/stream"

var _ stream.Holder = (*Receiver)(nil)

// Memory returns the area that the NIC writes into.
func (r *Receiver) Memory() []byte {
	switch {
	case r.area == nil:
	case r.area.dma != nil:
		return r.area.dma.Bytes()
	case r.area.mem != nil:
		return r.area.mem.Bytes()
	}
	return nil
}
