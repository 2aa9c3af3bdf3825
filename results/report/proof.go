// SPDX-License-Identifier: MIT

package report

import "github.com/zcbench/zcbench/results"

// Proof is where the payload of a cell's ok runs went at one host, in bytes.
type Proof struct {
	ZeroCopy uint64 `json:"zero_copy_bytes"`
	Copied   uint64 `json:"copied_bytes"`
	// copied too: it came in the packet's head; nil where the kernel does not tell it apart
	Linear *uint64 `json:"linear_bytes,omitempty"`
	// Untold is in what percent of the payload at most the kernel tells none of them, of the runs.
	Untold float64 `json:"untold_percent,omitempty"`
}

// CopiedPercent computes the share of the payload that was copied, 0 to 100.
func (p *Proof) CopiedPercent() float64 {
	copied := float64(p.Copied) + float64(value(p.Linear))
	return 100 * copied / (copied + float64(p.ZeroCopy))
}

// proof adds up the evidence of the runs; nil if none has any.
func proof(runs []*results.Record, host func(*results.Record) *results.Host) *Proof {
	var p Proof
	for _, r := range runs {
		h := host(r)
		p.ZeroCopy += value(h.ZeroCopyBytes)
		p.Copied += value(h.CopiedBytes)
		if untold := h.UntoldPercent(); untold > p.Untold { // NaN is not
			p.Untold = untold
		}
		if h.LinearBytes != nil {
			sum := value(p.Linear) + *h.LinearBytes
			p.Linear = &sum
		}
	}
	if p.ZeroCopy+p.Copied+value(p.Linear) == 0 {
		return nil
	}
	return &p
}

func value(p *uint64) uint64 {
	if p == nil {
		return 0
	}
	return *p
}
