// SPDX-License-Identifier: MIT

// Package screen lays out text and tables in the columns that there are. What goes to no terminal
// keeps the form that its table has without one, so that scripts and records of tests see the same
// everywhere, unless the environment has COLUMNS.
package screen
