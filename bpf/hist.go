// SPDX-License-Identifier: MIT

package bpf

// Buckets is the number of buckets of a [Hist]. The last one also takes what is
// longer than 2^34 ns, 17 seconds.
const Buckets = 496

// Hist is a log-linear histogram of nanoseconds: 16 buckets for each power of
// two, so none is wider than 1/16 of its lower edge (hist.h). Bucket i holds the
// values from Edge(i), inclusive, to Edge(i+1), exclusive.
type Hist struct {
	Bucket    [Buckets]uint64
	Sum       uint64 // ns
	Max       uint64 // ns
	Negative  uint64 // ended before they began: the clocks' offset is wrong; in no bucket
	Unstamped uint64 // packets without a receive stamp; in no bucket
}

// Edge returns the lower edge of bucket i, ns.
func Edge(i int) uint64 {
	if i < 16 {
		return uint64(i)
	}
	return uint64(16+i&15) << (i>>4 - 1)
}

// Count returns the number of values.
func (h *Hist) Count() (n uint64) {
	for _, b := range h.Bucket {
		n += b
	}
	return n
}

// Mean returns the average in ns; 0 for an empty histogram.
func (h *Hist) Mean() float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return float64(h.Sum) / float64(n)
}

// Quantile returns the value in ns below which the share q of the values lie, to within a bucket; 0
// for an empty histogram.
func (h *Hist) Quantile(q float64) float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	rank := q * float64(n)
	var below float64
	for i, b := range h.Bucket {
		if b > 0 && below+float64(b) >= rank {
			lo, hi := float64(Edge(i)), float64(Edge(i+1))
			return min(lo+(hi-lo)*(rank-below)/float64(b), float64(h.Max))
		}
		below += float64(b)
	}
	return float64(h.Max)
}

// Sub returns what came to h since earlier. Its Max is exact only if it is new, else the upper edge
// of the highest bucket.
func (h *Hist) Sub(earlier *Hist) Hist {
	d := Hist{Sum: h.Sum - earlier.Sum, Negative: h.Negative - earlier.Negative,
		Unstamped: h.Unstamped - earlier.Unstamped}
	for i := range h.Bucket {
		if d.Bucket[i] = h.Bucket[i] - earlier.Bucket[i]; d.Bucket[i] > 0 {
			d.Max = Edge(i+1) - 1
		}
	}
	if h.Max > earlier.Max || d.Max > h.Max {
		d.Max = h.Max
	}
	return d
}

// Join adds what another one counted.
func (h *Hist) Join(d *Hist) {
	for i := range h.Bucket {
		h.Bucket[i] += d.Bucket[i]
	}
	h.Sum, h.Negative, h.Unstamped = h.Sum+d.Sum, h.Negative+d.Negative, h.Unstamped+d.Unstamped
	h.Max = max(h.Max, d.Max)
}

// rawHist is one CPU's histogram in the map: struct hist of hist.h.
type rawHist struct {
	Sum, Max, Negative, Unstamped uint64
	Bucket                        [Buckets]uint32
}

// add adds what one CPU counted since its last reading. Its buckets are of 32
// bits and may wrap between.
func (h *Hist) add(now, last *rawHist) {
	for i := range h.Bucket {
		h.Bucket[i] += uint64(now.Bucket[i] - last.Bucket[i])
	}
	h.Sum += now.Sum - last.Sum
	h.Negative += now.Negative - last.Negative
	h.Unstamped += now.Unstamped - last.Unstamped
	h.Max = max(h.Max, now.Max)
}
