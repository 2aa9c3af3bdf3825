// SPDX-License-Identifier: MIT

// Package fleet sums up the results of many pairs of hosts that ran the same cells: how far each is
// from the others, what those that are far off have in common, and in what their hosts differ.
// docs/fleet.md is the method.
//
// It reads journals and the snapshots of hosts beside them, and nothing that was made of these.
// They
// may be anybody's: all that is read has limits.
package fleet
