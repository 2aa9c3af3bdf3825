// SPDX-License-Identifier: MIT

// Package why says what makes the difference in CPU time between two cells whose runs were
// profiled: which classes of work and which functions, what the stack and the path counted
// otherwise, and how much of the difference none of the classes explains. docs/why.md.
package why
