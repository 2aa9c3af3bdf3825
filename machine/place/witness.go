// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"sync"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"golang.org/x/sys/unix"
)

// watchEvery is between two looks at the socket. One costs about a microsecond.
const watchEvery = 5 * time.Millisecond

// Watch finds out on which CPUs a flow's packets were processed. The kernel
// keeps the last one with the socket (SO_INCOMING_CPU, set by tcp_v4_rcv).
type Watch struct {
	fd   int
	stop chan struct{}
	done sync.WaitGroup
	seen map[int]int
}

// StartWatch looks at a TCP socket until Stop.
func StartWatch(fd int) *Watch {
	w := &Watch{fd: fd, stop: make(chan struct{}), seen: map[int]int{}}
	w.done.Go(w.run)
	return w
}

func (w *Watch) run() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if cpu, err := unix.GetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_INCOMING_CPU); err == nil && cpu >= 0 {
			w.seen[cpu]++
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// Stop ends the watch, before the socket is closed. It returns how often each
// CPU was found.
func (w *Watch) Stop() map[int]int {
	close(w.stop)
	w.done.Wait()
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

// FlowShare is how much of the looks found one of the CPUs; ok is false when there were
// too few.
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

// HostShare is how much of the host's packets the CPUs processed.
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

// Fault says why the softirq did not run where it was put, "" if it did.
func (e Evidence) Fault() string {
	share, ok := e.FlowShare()
	switch host, counted := e.HostShare(); {
	case !ok:
		return fmt.Sprintf("too few packets to tell where the flow's softirq ran: %d looks at its socket", e.looks())
	case share < minShare:
		var cpus []int
		for c := range e.Looks {
			cpus = append(cpus, c)
		}
		return fmt.Sprintf("the flow's softirq ran on %s in %.0f %% of %d looks only, and on CPUs %s in all", e.asked(), 100*share, e.looks(), counter.FormatCPUList(cpus))
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
