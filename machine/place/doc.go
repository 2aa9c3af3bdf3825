// SPDX-License-Identifier: MIT

// Package place decides on which CPUs the network's receive softirq of an
// interface runs, and finds out whether it did: by the interrupts of its queues
// where it has any, else by receive packet steering (RPS). Several flows have a
// CPU each, as far as it is known by which queue they come.
package place
