// SPDX-License-Identifier: MIT

// Package answer says in sentences what the evidence of results supports: which mode leads, by how
// much, beside the baseline; what nobody can tell, and what it would take; what did not run, and
// where it would.
//
// No sentence is without the verdicts that it stands on ([Sentence.StandsOn]), and none says more
// than these: a tie is said as a tie, and the throughput of runs that the sender held up says
// nothing of receivers.
package answer
