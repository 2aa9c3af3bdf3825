// SPDX-License-Identifier: MIT

// Package stat is the statistics of repeated runs. Medians, their intervals and
// the Mann-Whitney U test are those of golang.org/x/perf/benchmath; what it lacks
// is here: comparisons by blocks and by boots ([Contrast]), the reference experiment's
// estimator, ratios with bootstrap intervals, Holm's correction, Spearman's rank correlation
// with the order of the runs, ratios of paired runs and what they say of a target.
//
// Nothing here hides how little is known: a figure that does not exist at a
// sample size is nil, and comes with a warning that says what it needs.
package stat
