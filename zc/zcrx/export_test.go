// SPDX-License-Identifier: MIT

package zcrx

import "github.com/zcbench/zcbench/flow/uring"

// PretendKernel makes the kernel look older, until undo.
func PretendKernel(f uring.ZcrxFeatures) (undo func()) {
	old := queryKernel
	queryKernel = func() uring.ZcrxFeatures { return f }
	return func() { queryKernel = old }
}

// SteerNextTo has the next flow that is attached steered to another queue than the receiver's.
func (r *Receiver) SteerNextTo(queue *int) { r.opt.NIC.SteerTo = queue }
