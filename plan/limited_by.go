// SPDX-License-Identifier: MIT

package plan

// LimitedBy is what kept a run from being faster, by its evidence; "" is not known.
type LimitedBy string

// What a run can be limited by.
const (
	ByReceiver LimitedBy = "receiver" // its thread, or a CPU that it or its softirq ran on, had no time left
	BySender   LimitedBy = "sender"   // the same at the other end, and the receiver did not hold it up
	ByOneCPU   LimitedBy = "one-cpu"  // a CPU without time left that worked for both ends, so it is neither's limit
	ByWindow   LimitedBy = "window"   // TCP's receive window or the sender's buffer, with time left at both ends
	ByPath     LimitedBy = "path"     // data was under way all the time, with time left at both ends
	ByLink     LimitedBy = "link"
	ByPace     LimitedBy = "pace"   // that was asked for
	ByCgroup   LimitedBy = "cgroup" // a limit of CPU time or memory of a control group of either end
)

// Limits of runs in the order of docs.
var LimitedBys = []LimitedBy{ByReceiver, BySender, ByOneCPU, ByWindow, ByPath, ByLink, ByPace, ByCgroup}

// Name words the limit for sentences: "the sender".
func (l LimitedBy) Name() string {
	if l == ByOneCPU {
		return "one CPU for both ends"
	}
	return "the " + string(l)
}

// At says that something was at the limit: "at the sender's limit".
func (l LimitedBy) At() string {
	if l == ByOneCPU {
		return "at the limit of " + l.Name()
	}
	return "at " + l.Name() + "'s limit"
}
