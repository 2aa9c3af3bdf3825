// SPDX-License-Identifier: MIT

// Package plan says what is asked. A [Cell] is one combination of what can be chosen of a run, each
// by an [Option] of the table [Options]; [Gates] are the limits that runs are judged by. Whether a
// cell can run, and if not why and what to do, says [CannotRun] by the list [rules], from the cell
// and from what the [Hosts] told. Below it, package modes lists the data paths, and package matrix
// reads experiment files and puts runs in order.
package plan
