// SPDX-License-Identifier: MIT

// Package report turns a journal into something to read: a summary per cell
// ([Summarize]), and from it a table for the terminal ([Table]), JSON ([JSON])
// and a self-contained HTML page ([HTML]).
//
// Only runs that are no warm-up and have the verdict ok enter statistics. A
// cell without such a run has no number, only its verdict. What was not
// measured is shown as "-".
package report
