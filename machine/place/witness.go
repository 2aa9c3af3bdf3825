// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/rounds"
	"github.com/zcbench/zcbench/machine/counter"
	"golang.org/x/sys/unix"
)

// watchEvery is between two rounds of looks at the sockets. A look costs about a microsecond, so
// that a round has some mostLooks: of more flows each is looked at every few rounds, of very many
// at least once in mostRounds, which leaves ten looks at each in the shortest window (250 ms).
const (
	watchEvery = 5 * time.Millisecond
	mostLooks  = 64
	mostRounds = 4
)

// Watch finds out on which CPUs the packets of an end's flows were processed. The kernel
// keeps the last one with each socket (SO_INCOMING_CPU, set by tcp_v4_rcv).
type Watch struct {
	rounds *rounds.Watch
	seen   []map[int]int
}

// StartWatch looks at TCP sockets until Stop.
func StartWatch(fds ...int) *Watch {
	w := newWatch(fds)
	w.rounds.Start(watchEvery)
	return w
}

func newWatch(fds []int) *Watch {
	w := &Watch{seen: make([]map[int]int, len(fds))}
	for i := range w.seen {
		w.seen[i] = map[int]int{}
	}
	looks := max(mostLooks, (len(fds)+mostRounds-1)/mostRounds)
	w.rounds = rounds.New(len(fds), looks, func(i int) {
		if cpu, err := unix.GetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_INCOMING_CPU); err == nil && cpu >= 0 {
			w.seen[i][cpu]++
		}
	})
	return w
}

// Stop ends the watch, before the sockets are closed. It returns how often each CPU was found, of
// each socket.
func (w *Watch) Stop() []map[int]int {
	w.rounds.Stop()
	return w.seen
}

// minShare is how much of what was seen must have been on the CPUs that were
// asked for.
const minShare = 0.95

// minLooks is how many looks tell anything.
const minLooks = 10

// Evidence is where a flow's softirq ran in a window.
type Evidence struct {
	CPUs    []int          // that were asked for: it may have run on any of them
	Looks   map[int]int    // times that the socket named each CPU
	Softnet map[int]uint64 // packets that each CPU of the host processed; nil: not measured
}

// FlowShare computes what share of the looks found one of the CPUs; ok is false when there were too
// few.
func (e Evidence) FlowShare() (share float64, ok bool) {
	n, here := e.looks(), 0
	if n < minLooks {
		return 0, false
	}
	for _, cpu := range e.CPUs {
		here += e.Looks[cpu]
	}
	return float64(here) / float64(n), true
}

// Ran infers the CPU on which the softirq ran: the one that nearly all looks named, or where too
// few tell, the only one that was asked for. ok is false where it is not known, or ran on several.
func (e Evidence) Ran() (cpu int, ok bool) {
	n := e.looks()
	if n < minLooks {
		if len(e.CPUs) != 1 {
			return 0, false
		}
		return e.CPUs[0], true
	}
	for cpu, here := range e.Looks {
		if float64(here) >= minShare*float64(n) {
			return cpu, true
		}
	}
	return 0, false
}

// onShare is how much of what was seen must have been on a CPU for it to count as one of the
// softirq's.
const onShare = 0.1

// On lists the CPUs on which a good part of the softirq ran, in order; nil: it is not known. Where
// too few looks tell, that is the only one that was asked for.
func (e Evidence) On() (cpus []int) {
	n := e.looks()
	if n < minLooks {
		if len(e.CPUs) == 1 {
			cpus = append(cpus, e.CPUs[0])
		}
		return cpus
	}
	for cpu, here := range e.Looks {
		if float64(here) >= onShare*float64(n) {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// HostShare computes what share of the host's packets the CPUs processed.
func (e Evidence) HostShare() (share float64, ok bool) {
	var n, here uint64
	for _, v := range e.Softnet {
		n += v
	}
	if n == 0 {
		return 0, false
	}
	for _, cpu := range e.CPUs {
		here += e.Softnet[cpu]
	}
	return float64(here) / float64(n), true
}

// Fault explains why the softirq did not run where it was put, "" if it did.
func (e Evidence) Fault() string {
	share, ok := e.FlowShare()
	switch host, counted := e.HostShare(); {
	case !ok:
		return fmt.Sprintf("too few packets to tell where the flow's softirq ran: %d samples of its socket", e.looks())
	case share < minShare:
		var cpus []int
		for c := range e.Looks {
			cpus = append(cpus, c)
		}
		return fmt.Sprintf("the flow's softirq ran on %s in only %.0f %% of %d samples, and on CPUs %s in all",
			e.asked(), 100*share, e.looks(), counter.FormatCPUList(cpus))
	case counted && host == 0:
		return fmt.Sprintf("%s processed no packet in the window (/proc/net/softnet_stat)", e.asked())
	}
	return ""
}

// asked names the CPUs that were asked for.
func (e Evidence) asked() string {
	if len(e.CPUs) == 1 {
		return fmt.Sprintf("CPU %d", e.CPUs[0])
	}
	return "CPUs " + counter.FormatCPUList(e.CPUs)
}

func (e Evidence) looks() (n int) {
	for _, v := range e.Looks {
		n += v
	}
	return n
}
