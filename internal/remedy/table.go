// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"
	"sync"
)

// table is all rows, in the order of docs/errors.md. Whoever waits for a receiver asks for
// them many times a second: they are made once.
var table = sync.OnceValue(func() []Row {
	return judged(slices.Concat(socketRows(), sockoptRows(), connectRows(), transferRows(), memoryRows(), uringRows(),
		netlinkRows(), ethtoolRows(), ioctlRows(), netdevRows(), rtnetlinkRows(), routeRows(), fileRows(),
		bpfRows(), perfRows(), dmabufRows(), devmemRows(), threadRows(),
		diskRows(), anyRows()))
})
