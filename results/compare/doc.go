// SPDX-License-Identifier: MIT

// Package compare says which cells of one set of runs are faster, slower, cheaper
// or costlier than those of another, and where nobody can tell. docs/statistics.md
// is the method.
package compare
