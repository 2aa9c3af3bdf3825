// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// unsplitWatch finds packets whose headers the NIC did not split off while flows go to memory of
// the application: drivers drop those, and a flow that has no others stands still. Its zero value
// has nothing to find.
type unsplitWatch struct {
	dev    string
	read   func(dev string) (nic.Unsplit, error)
	before nic.Unsplit
}

// unsplitWatches are those of all interfaces of an end.
type unsplitWatches []unsplitWatch

// watchUnsplit notes what the drivers have counted before payload flows.
func watchUnsplit(e *End) (all unsplitWatches) {
	if e.spec.Role != stream.RX || !e.path.TakesQueue() {
		return nil
	}
	for _, dev := range e.nicDevs() {
		w := unsplitWatch{dev: dev, read: readUnsplit}
		w.before, _ = w.read(w.dev) // what cannot be read has not grown
		all = append(all, w)
	}
	return all
}

// grown describes what the first of them has counted since that counted any.
func (all unsplitWatches) grown() (what, fix string) {
	for i := range all {
		if what, fix = all[i].grown(); what != "" {
			break
		}
	}
	return what, fix
}

func readUnsplit(dev string) (nic.Unsplit, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Unsplit()
}

// grown describes what the driver has counted since, and what to do about it; "": nothing.
func (w *unsplitWatch) grown() (what, fix string) {
	if w.read == nil || len(w.before) == 0 {
		return "", ""
	}
	now, err := w.read(w.dev)
	if err != nil {
		return "", ""
	}
	return nic.Unsplitting(w.dev, now.Grown(w.before))
}

// noteUnsplit notes of the run what the driver has counted.
func (r *run) noteUnsplit() {
	if r.stall == nil || r.turns != nil { // in turns it may be of others' packets
		return
	}
	if what, _ := r.stall.unsplit.grown(); what != "" {
		r.warnings = append(r.warnings, what)
	}
}
