// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// unconsumed names the cells of a comparison of receivers in which nobody looks at the payload.
// Copying brings it into the reader's cache, and zero copy does not: an application that never
// reads it does not see what that is worth. "" where both read it, or only senders are compared.
func unconsumed(a, b *plan.Cell) string { return unconsumedIn(a, b, "A", "B") }

func unconsumedIn(a, b *plan.Cell, nameA, nameB string) string {
	if !slices.Contains(subjects(a, b), plan.ByReceiver) {
		return ""
	}
	switch x, y := consumed(a), consumed(b); {
	case !x && !y:
		return "payload not consumed"
	case !x:
		return "payload not consumed in " + nameA
	case !y:
		return "payload not consumed in " + nameB
	}
	return ""
}

// consumed reports whether the receiving application reads the payload, as one does that decrypts
// it, or passes it on, or writes it.
func consumed(c *plan.Cell) bool {
	if c.Then != "" || records.How(c.TLS) == records.User {
		return true
	}
	m, err := modes.Find(stream.RX, c.RX)
	return c.Touch != "" && c.Touch != string(stream.TouchNone) && !(err == nil && m.Has(stream.NoPayload))
}
