// SPDX-License-Identifier: MIT

// Package results holds what a run produced and the files it is kept in.
//
// One run is one [Record]. Records go to the journal first (JSON lines, synced
// to disk before the next run starts); runs.csv, metrics.csv, samples.csv and flows.csv
// are derived from it and can be made again at any time.
//
// A pointer that is nil, an empty string or an absent metric means "not
// measured". Zero is a measured zero.
//
// Of zcbench it imports internal alone.
package results
