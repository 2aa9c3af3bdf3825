// SPDX-License-Identifier: MIT

// Package endpoint runs one end of a flow: it prepares a data path, opens the
// connection, runs the path on its own pinned thread, reads the counters at the
// edges of the steady window and judges the result. The agent runs it for a
// controller; zcrecv and zcsend run it on their own.
package endpoint
