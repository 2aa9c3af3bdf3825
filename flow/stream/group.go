// SPDX-License-Identifier: MIT

package stream

import "fmt"

// Group is a Receiver that can also move several flows, on one thread: those that share the
// memory of one RX queue, as the connections of a server do. Attach is called for each of them,
// then ReceiveAll once, in the place of Receive.
type Group interface {
	Receiver
	// ReceiveAll takes payload of all flows that were attached until their peers have ended all
	// of them (nil), or an error of one, which names it. Each flow's meter counts its own bytes,
	// the first's also the calls that are made for all; each is told of its own end when that
	// comes ([Flow.End]). It does not allocate per call.
	ReceiveAll(flows []*Flow) error
	// EvidenceOf is [Witness].Evidence of one of the flows.
	EvidenceOf(f *Flow) Evidence
}

// CheckGroup refuses flows that are not those which were attached; attached is how many were, and
// has whether one was.
func CheckGroup(flows []*Flow, attached int, has func(*Conn) bool) error {
	if len(flows) != attached {
		return fmt.Errorf("%d flows to receive, but %d were attached", len(flows), attached)
	}
	for _, f := range flows {
		if f.Conn == nil || !has(f.Conn) {
			return fmt.Errorf("flow %d was not attached", f.N)
		}
	}
	return nil
}

// FlowError is an error of one of a thread's flows.
type FlowError struct {
	N   int // the flow's number
	Err error
}

func (e *FlowError) Error() string { return fmt.Sprintf("flow %d: %v", e.N, e.Err) }
func (e *FlowError) Unwrap() error { return e.Err }

// OfFlow marks an error as that of flow n; nil stays nil.
func OfFlow(n int, err error) error {
	if err == nil {
		return nil
	}
	return &FlowError{n, err}
}
