// SPDX-License-Identifier: MIT

// Package race finds the best of many settings of one mode in little time, by successive halving,
// and says what may be believed of it.
//
// Settings ([Field]) that can take turns share a start; those that differ in a host's settings are
// in groups, which take their places in blocks. After each block settings leave the race: those
// that are told to be worse than the leader, and of the rest those that are the least likely to be
// better, so that the time lasts. A setting is dropped by its own figures only, never by those of a
// level: so a combination that is better than its parts stays. What is estimated is told by a model
// of all readings: their logarithms are a setting's, and a block's, and a start's, whose spread is
// estimated, and noise (see fit.go).
//
// The search picks the largest of many figures that vary, so its figure of the winner is too large:
// no verdict is made of it. The caller runs the winner and the default again in other starts
// ([stat.Pairs] of blocks), and [Optimism] says by how much the search was wrong.
package race
