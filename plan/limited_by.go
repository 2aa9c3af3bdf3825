// SPDX-License-Identifier: MIT

package plan

// LimitedBy is what kept a run from being faster, by its evidence; "" is not known.
type LimitedBy string

// What a run can be limited by.
const (
	ByReceiver LimitedBy = "receiver" // its thread, or a CPU that it or its softirq ran on, had no time left
	BySender   LimitedBy = "sender"   // the same at the other end, and the receiver did not hold it up
	ByWindow   LimitedBy = "window"   // TCP's receive window or the sender's buffer, with time left at both ends
	ByLink     LimitedBy = "link"
	ByPace     LimitedBy = "pace"   // that was asked for
	ByCgroup   LimitedBy = "cgroup" // a limit of CPU time or memory of a control group of either end
)

// Limits of runs in the order of docs.
var LimitedBys = []LimitedBy{ByReceiver, BySender, ByWindow, ByLink, ByPace, ByCgroup}

// Whose names the limit for sentences: "the sender's".
func (l LimitedBy) Whose() string { return "the " + string(l) + "'s" }
