// SPDX-License-Identifier: MIT

package remedy

// Fact is something that holds or not where a call has failed, and that this package cannot look
// at: what knows a NIC's queues, for one, stands above it. The caller answers through [On.Facts],
// with words that take the place of the row's Cause, or none.
type Fact string

// told makes the look at a fact; from is what the caller reads.
func told(f Fact, from string) *state {
	return &state{Name: string(f), From: from, fact: f, Holds: func(on On) (string, bool) {
		if on.Facts == nil {
			return "", false
		}
		return on.Facts(f)
	}}
}

// FactsOf lists the facts that rows of a call may ask for.
func FactsOf(call Call) (facts []Fact) {
	for _, r := range Rows(call) {
		if r.If != nil && r.If.fact != "" {
			facts = append(facts, r.If.fact)
		}
	}
	return facts
}
