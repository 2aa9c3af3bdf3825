// SPDX-License-Identifier: MIT

package remedy

import "slices"

// table is all rows, in the order of docs/errors.md.
func table() []Row {
	return judged(slices.Concat(socketRows(), sockoptRows(), connectRows(), transferRows(), memoryRows(), uringRows(),
		netlinkRows(), ethtoolRows(), ioctlRows(), netdevRows(), rtnetlinkRows(), routeRows(), fileRows(),
		bpfRows(), perfRows(), dmabufRows(), devmemRows(), threadRows(), anyRows()))
}
