// SPDX-License-Identifier: MIT

package plan

// Keys remembers the keys of cells. The records of a journal have few cells, and to put a key
// together for each record takes longer than what is then done with it.
type Keys struct{ known map[Cell]CellKey }

// mostKeys is how many are remembered: cells that are equal but for where their values lie are
// each remembered apart.
const mostKeys = 4096

// Of returns the cell's key.
func (k *Keys) Of(c *Cell) CellKey {
	key, ok := k.known[*c]
	if ok {
		return key
	}
	if k.known == nil || len(k.known) == mostKeys {
		k.known = map[Cell]CellKey{}
	}
	key = c.Key()
	k.known[*c] = key
	return key
}
