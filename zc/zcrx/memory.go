// SPDX-License-Identifier: MIT

package zcrx

import "github.com/zcbench/zcbench/flow/stream"

var _ stream.Holder = (*Receiver)(nil)

// Memory returns the area that the NIC writes into.
func (r *Receiver) Memory() []byte {
	if r.area == nil {
		return nil
	}
	return r.area.Bytes
}
