// SPDX-License-Identifier: MIT

// Package tune looks for the settings with which each mode of a plan is at its best on its hosts,
// and confirms what it found.
//
// A [Space] is what is tried for one mode: of a file its factors, or else what the mode has and the
// hosts can set. A search ([Search]) tries each level once, briefly, so that what these hosts
// refuse is told; then the modes' races (package race) take turns, block by block, each with the
// same time. All runs of it are in a journal of their own. When the races are over the winners are
// written down as an experiment file: each mode at its defaults and at its best. That file is then
// played, and its runs alone are what a [Report] compares.
package tune
