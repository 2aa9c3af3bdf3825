// SPDX-License-Identifier: MIT

// Package matrix reads experiment files and turns them into the order in which
// their cells are run. docs/matrix.md describes the files.
//
// Every factor of a file is one field of a cell and one entry of [Factors]. A
// factor that this build cannot bring about says so there, and the cells that ask
// for it are unsupported: no factor is read and then ignored.
package matrix
