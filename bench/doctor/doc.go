// SPDX-License-Identifier: MIT

// Package doctor says what a host can run and why not: for every mode a ladder of
// what it needs of kernel, host and NIC, each rung with what was found, what is
// needed, the kernel's errno and the fix. It changes nothing.
package doctor
