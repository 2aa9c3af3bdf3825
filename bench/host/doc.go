// SPDX-License-Identifier: MIT

// Package host is where an end of the flow lives, seen from the controller: a
// process of this tool (its agent) on the local machine, or in one of its
// network namespaces, spoken to over standard input and output.
package host
