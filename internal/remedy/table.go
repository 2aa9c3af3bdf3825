// SPDX-License-Identifier: MIT

package remedy

import "slices"

// table is all rows, in the order of docs/errors.md.
func table() []Row {
	return slices.Concat(socketRows(), sockoptRows(), connectRows(), routeRows(), transferRows(),
		memoryRows(), uringRows())
}
