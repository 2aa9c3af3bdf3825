// SPDX-License-Identifier: MIT

package zcrx

import "github.com/zcbench/zcbench/flow/uring"

// PretendKernel makes the kernel look older, until undo.
func PretendKernel(f uring.ZcrxFeatures) (undo func()) {
	old := queryKernel
	queryKernel = func() uring.ZcrxFeatures { return f }
	return func() { queryKernel = old }
}
