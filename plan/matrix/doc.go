// SPDX-License-Identifier: MIT

// Package matrix reads experiment files and turns them into the order in which
// their cells are run. docs/matrix.md describes the files.
//
// Every factor of a file is one field of a cell and one entry of [plan.Options].
package matrix
