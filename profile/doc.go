// SPDX-License-Identifier: MIT

// Package profile says where CPU time went: samples of stacks (package perf), with names
// (package symbol), are added up by function and by class of the receive path, and scaled to the
// time that the CPUs were busy. It works on what it is given alone, and touches no machine.
package profile
