// SPDX-License-Identifier: MIT

package devmem

import "github.com/zcbench/zcbench/flow/stream"

// Kill ends the binding under a receiver.
func Kill(r stream.Receiver) error {
	b := r.(*Receiver).binding
	err := b.Close()
	return err
}

// Looks is how often a receiver looked at its queue's counters, which allocates.
func Looks(r stream.Receiver) int { return r.(*Receiver).idle.looks }
