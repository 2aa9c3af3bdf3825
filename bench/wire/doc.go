// SPDX-License-Identifier: MIT

// Package wire is what controller and agent say to each other: JSON objects,
// one a line, over the agent's standard input and output. Nothing listens.
//
// The controller asks ([Request]), the agent answers every request once
// ([Response]), in any order: a run is answered when it has ended, and may be
// aborted meanwhile. End of input ends the agent and everything it runs.
package wire
