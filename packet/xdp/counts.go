// SPDX-License-Identifier: MIT

package xdp

// Counts is what a program has counted. It is struct counts of frames.bpf.c.
type Counts struct {
	Frames, Bytes uint64 // the generator's
	Others        uint64 // frames that are not, and went on
	Missed        uint64 // the generator's that could not be redirected, and were dropped
}

func (c *Counts) add(d Counts) {
	c.Frames, c.Bytes, c.Others, c.Missed = c.Frames+d.Frames, c.Bytes+d.Bytes, c.Others+d.Others, c.Missed+d.Missed
}

// Sub returns what was counted since an earlier reading.
func (c Counts) Sub(b Counts) Counts {
	return Counts{c.Frames - b.Frames, c.Bytes - b.Bytes, c.Others - b.Others, c.Missed - b.Missed}
}

// Redirected returns how many frames were not missed. A CPU may be seen to have counted one of
// these before the frame: some, such as arm64's, let stores be seen in another order.
func (c Counts) Redirected() uint64 { return c.Frames - min(c.Missed, c.Frames) }

// Sum adds up the counts of all CPUs.
func Sum(of []Counts) (all Counts) {
	for _, c := range of {
		all.add(c)
	}
	return all
}

// Places of each CPU in a map of counts.
const (
	atRung = iota
	behindCPUMap
	places
)
