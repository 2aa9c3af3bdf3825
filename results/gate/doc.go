// SPDX-License-Identifier: MIT

// Package gate decides which runs are worth believing. Gates of one run are judged
// when it ends and are in its record ([Run]). Gates of a cell need all its runs:
// they follow from the journal whenever it is read ([Apply]), so that they hold
// after a crash too and nothing in a journal is ever rewritten.
//
// What was not measured fails no gate.
package gate
