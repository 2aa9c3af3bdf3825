// SPDX-License-Identifier: MIT

package plan

// LimitedBy is what kept a run from being faster, by its evidence; "" is not known.
type LimitedBy string

// What a run can be limited by; [Limiters] say what each means.
const (
	ByReceiver LimitedBy = "receiver"
	BySender   LimitedBy = "sender"
	ByOneCPU   LimitedBy = "one-cpu"
	ByWindow   LimitedBy = "window"
	ByDisk     LimitedBy = "disk"
	ByPath     LimitedBy = "path"
	ByLink     LimitedBy = "link"
	ByPace     LimitedBy = "pace"
	ByCgroup   LimitedBy = "cgroup"
)

// limiter is what a limit of runs means, and what it takes to be without it.
type limiter struct {
	By        LimitedBy
	Means, Do string
	Neither   bool // end's own: an answer says what it means
}

// Limiters are all limits of runs, in the order of docs. The table of docs/read-a-report.md,
// `zcbench explain` and what answers say of a limit are made of them.
var Limiters = []limiter{
	{ByReceiver, "the receiver's thread, or a CPU that it or its softirq ran on, had no time left",
		"nothing: it is the receiver that was measured", false},
	{BySender, "the sender's thread, or a CPU that it used, had no time left, and the receiver did not hold it up",
		"a faster sender, or a comparison of costs at one pace (--pace)", false},
	{ByOneCPU, "a CPU without time left worked for both ends, as on a veth, where the receiver's softirq runs on " +
		"the sender's CPU", "the receiver's softirq on the CPU of its thread (--layout 1cpu, in files cpu_layout) or " +
		"on one of its own (2cpu), and a CPU for each thread", true},
	{ByWindow, "TCP waited for buffer space, the receive window's or the sender's, with time left at both ends",
		"larger buffers (--rcvbuf, --sndbuf), or a comparison of costs at one pace (--pace)", false},
	{ByDisk, "payload waited for a receiver that waited for its writes to a file, with time left at both ends",
		"nothing: it is the receiver that was measured, its disk included", false},
	{ByPath, "TCP always had data to send, and both ends had time left: a queue discipline, a switch, loss, the " +
		"round trip or the congestion control held it up", "a faster path, another congestion control " +
		"(--congestion), or a comparison of costs at one pace (--pace)", true},
	{ByLink, "the wire was full", "a faster link, or a comparison of costs at one pace (--pace)", false},
	{ByPace, "it sent at the rate that you asked for", "nothing, or no --pace", false},
	{ByCgroup, "a limit of CPU time or memory of a control group held an end back",
		"a run outside of the cgroup, or without its limit (cpu.max, memory.high); the runs' warnings name it", false},
}

// LimitedBys are the limits of runs alone.
var LimitedBys = func() (all []LimitedBy) {
	for _, l := range Limiters {
		all = append(all, l.By)
	}
	return all
}()

// limiter returns what the limit means; the zero one, of one that is not known.
func (l LimitedBy) Limiter() (of limiter) {
	for _, x := range Limiters {
		if x.By == l {
			of = x
		}
	}
	return of
}

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
