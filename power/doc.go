// SPDX-License-Identifier: MIT

// Package power measures what a host draws while a run is under way.
//
// A [Source] is one instrument: RAPL counters, a board sensor, a BMC, a power
// distribution unit, a wall meter, a GPU. [Sampler] reads any number of them at
// once, each on a thread of its own so that one that hangs holds up no other,
// and keeps every reading in a [Trace]. [Measure] turns traces into figures for
// the window of a run: gross watts, idle watts, their difference, and how far
// each can be wrong.
//
// A source that stops answering has no figure in that window and says why. Its
// last value is never used for a time at which it was not read.
package power
