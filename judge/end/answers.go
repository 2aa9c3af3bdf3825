// SPDX-License-Identifier: MIT

package end

import "github.com/zcbench/zcbench/flow/stream"

// Answers are what an end knows of how requests of a flow were answered by a mode that claims not
// to copy.
type Answers struct {
	Mode       string // of the sender of requests
	Sent       stream.Counters
	CopiesHere bool // where the flow stays, the mode cannot but copy
}

// answersUncopied: answers left without a copy, as the requests did.
func answersUncopied(e *Evidence, f *Flow) (found Finding) {
	if a := f.Answers; a != nil {
		found.Reason, found.Fix = e.sentCopied(a.Sent, "the answers of "+a.Mode)
		found.Expected = a.CopiesHere && found.Reason != ""
	}
	return found
}
