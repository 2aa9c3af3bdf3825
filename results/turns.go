// SPDX-License-Identifier: MIT

package results

// Turns say of a run that it was made in turns with runs of other cells: docs/turns.md.
type Turns struct {
	TurnNs int64 `json:"turn_ns"` // how long each was at its pace
	Turns  int   `json:"turns"`   // of each cell, that are measured
	Cells  int   `json:"cells"`   // that took turns
}
