// SPDX-License-Identifier: MIT

package stream

// Holder is a data path that has memory of its own for the payload.
type Holder interface {
	// Memory is that memory as this process has it mapped; nil: it has none, or not mapped.
	// It is asked for on the data path's thread, before it is closed.
	Memory() []byte
}
