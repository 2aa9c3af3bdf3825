// SPDX-License-Identifier: MIT

package measure

// Count is one counter, as its source has read it.
type Count struct {
	Area   string // of the source, see package tally
	Name   string // as whoever keeps it calls it
	Metric string // its row in metrics.csv
	Unit   string
	Source string
	Kind   Kind
	Value  uint64
}

// Kind is how two values of a counter are compared.
type Kind int

// The kinds.
const (
	Counter   Kind = iota // it grows
	Counter32             // it grows and begins anew at 2^32
	Gauge                 // a level: it rises and falls
)

// Since computes by how much the counter grew; flag says why to doubt it.
func (c *Count) Since(before uint64) (delta int64, flag string) {
	delta = int64(c.Value - before)
	switch {
	case c.Kind == Counter32:
		return Grew32(before, c.Value), ""
	case c.Kind == Gauge:
	case c.Value < before && wrapped(before, c.Value):
		return Grew32(before, c.Value), "wrapped at 32 bits"
	case c.Value < before:
		flag = "the counter fell: it was reset in the window"
	case delta < 0:
		flag = "the counter jumped: not used"
	}
	return delta, flag
}

// Grew32 computes by how much a counter grew that the kernel keeps in 32 bits.
func Grew32(before, after uint64) int64 { return int64(uint32(after) - uint32(before)) }

// wrapped reports whether a counter that is lower than before began anew at 2^32: only a fall from
// the top quarter of 32 bits to the bottom one is taken for that.
func wrapped(before, after uint64) bool {
	const quarter = 1 << 30
	return before < 1<<32 && before >= 3*quarter && after < quarter
}
