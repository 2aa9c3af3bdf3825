// SPDX-License-Identifier: MIT

package plan

// LimitedBy is what kept a run from being faster, by its evidence; "" is not known.
type LimitedBy string

// What a run can be limited by; [Limiters] say what each means.
const (
	ByReceiver LimitedBy = "receiver"
	BySender   LimitedBy = "sender"
	ByWindow   LimitedBy = "window"
	ByLink     LimitedBy = "link"
	ByPace     LimitedBy = "pace"
	ByCgroup   LimitedBy = "cgroup"
)

// Limiter is what a limit of runs means, and what it takes to be without it.
type Limiter struct {
	By        LimitedBy
	Means, Do string
}

// Limiters are all limits of runs, in the order of docs. The table of docs/read-a-report.md,
// `zcbench explain` and what answers say of a limit are made of them.
var Limiters = []Limiter{
	{ByReceiver, "the receiver's thread, or a CPU that it or its softirq ran on, had no time left",
		"nothing: it is the receiver that was measured"},
	{BySender, "the sender's thread, or a CPU that it used, had no time left, and the receiver did not hold it up",
		"a faster sender, or a comparison of costs at one pace (--pace)"},
	{ByWindow, "TCP waited for buffer space, the receive window's or the sender's, with time left at both ends",
		"larger buffers (--rcvbuf, --sndbuf), or a comparison of costs at one pace (--pace)"},
	{ByLink, "the wire was full", "a faster link, or a comparison of costs at one pace (--pace)"},
	{ByPace, "it sent at the rate that you asked for", "nothing, or no --pace"},
	{ByCgroup, "a limit of CPU time or memory of a control group held an end back",
		"a run outside of the cgroup, or without its limit (cpu.max, memory.high); the runs' warnings name it"},
}

// LimitedBys are the limits of runs alone.
var LimitedBys = func() (all []LimitedBy) {
	for _, l := range Limiters {
		all = append(all, l.By)
	}
	return all
}()

// Whose names the limit for sentences: "the sender's".
func (l LimitedBy) Whose() string { return "the " + string(l) + "'s" }

// Lift returns what takes the limit away.
func (l LimitedBy) Lift() string {
	for _, x := range Limiters {
		if x.By == l {
			return x.Do
		}
	}
	return ""
}
