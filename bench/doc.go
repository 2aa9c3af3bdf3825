// SPDX-License-Identifier: MIT

// Package bench runs a plan: one run at a time, both ends driven through their
// agents, every run in the journal before the next one starts.
package bench
