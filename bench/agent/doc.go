// SPDX-License-Identifier: MIT

// Package agent is the far end of package host: a process that does on its host
// what a controller asks over standard input and output. It runs one end of one
// flow at a time. When its input ends, for whatever reason, it aborts what runs,
// frees everything and ends.
package agent
