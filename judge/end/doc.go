// SPDX-License-Identifier: MIT

// Package end judges a run at one of its ends, by what that end knows ([Evidence]). It is apart
// from package judge because the programs of one end alone have no use for the statistics of that.
package end
