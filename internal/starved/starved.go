// SPDX-License-Identifier: MIT

// Package starved says whether other processes kept a process and its children from the CPUs: then
// what a timed test of theirs found says nothing about the code.
package starved

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

// Self is this process, for [Watch].
var Self = os.Getpid()

// The limits of a load that starves nobody.
const (
	mostStolen = 0.025 // of all CPUs
	mostOthers = 0.20  // CPUs
	mostWaited = 0.05  // CPUs
	leastIdle  = 0.20  // CPUs
)

// userHz is the unit of /proc's CPU times: USER_HZ is 100 on all of Linux's architectures that Go
// has but for alpha.
const userHz = 100

// A Load is what happened on the machine in some time. Its figures but the first are in CPUs:
// seconds of CPU time, or of waiting for it, in a second.
type Load struct {
	Wall   time.Duration
	Stolen float64 // taken by a hypervisor: /proc/stat's steal
	Others float64 // used by processes of others
	Waited float64 // waited for by threads of the process and its children: their run delay
	Idle   float64 // used by nobody
}

// Starved reports whether the process was kept from the CPUs by others: its threads had to wait, or
// there was no CPU left, while others had some. That its own threads were more than the CPUs is no
// reason. Threads that have ended are not in Waited, hence Idle.
func (l Load) Starved() bool {
	return l.stolen() || l.Others > mostOthers && (l.Waited > mostWaited || l.Idle < leastIdle)
}

// Quiet reports whether nothing else ran.
func (l Load) Quiet() bool { return !l.stolen() && l.Others <= mostOthers }

func (l Load) stolen() bool { return l.Stolen > mostStolen*float64(runtime.NumCPU()) }

func (l Load) String() string {
	return fmt.Sprintf(
		"in %.1f s others had %.2f CPUs, %.2f were stolen, %.2f idle, and %.2f of our threads waited for one",
		l.Wall.Seconds(), l.Others, l.Stolen, l.Idle, l.Waited)
}

// A Watcher has the machine's state at the begin.
type Watcher struct {
	root  int
	begun state
	err   error
}

// Watch looks at the machine now, for process root: it and its descendants are not others.
func Watch(root int) *Watcher {
	w := &Watcher{root: root}
	w.begun, w.err = look(root)
	return w
}

// Load computes what happened since. An error means that it is not known: /proc could not be read.
func (w *Watcher) Load() (Load, error) {
	now, err := look(w.root)
	if w.err != nil {
		return Load{}, w.err
	}
	if err != nil {
		return Load{}, err
	}
	wall := now.at.Sub(w.begun.at)
	l := Load{Wall: wall, Stolen: (now.stolen - w.begun.stolen) / wall.Seconds()}
	l.Idle = (now.idle - w.begun.idle) / wall.Seconds()
	l.Others = max(now.others-w.begun.others, 0) / wall.Seconds()
	for thread, waited := range now.waited {
		l.Waited += max(waited-w.begun.waited[thread], 0).Seconds() / wall.Seconds()
	}
	return l, nil
}

// thread is one for good: numbers are used again.
type thread struct {
	tid   int
	start uint64
}

// state is what the kernel counts, up to a moment.
type state struct {
	at           time.Time
	stolen, idle float64 // seconds of CPUs
	// Seconds of CPU time of all processes that are not ours, with the children that they have
	// waited for: what one had that has ended is its parent's by then.
	others float64
	waited map[thread]time.Duration // for a CPU, by each of our threads
}

// kthreadd is the parent of the kernel's own threads, which work for whoever has work for them.
const kthreadd = 2

func look(root int) (state, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return state{}, err
	}
	stat, err := fs.Stat()
	if err != nil {
		return state{}, err
	}
	s := state{at: time.Now(), stolen: stat.CPUTotal.Steal, idle: stat.CPUTotal.Idle + stat.CPUTotal.Iowait,
		waited: map[thread]time.Duration{}}
	all, err := fs.AllProcs()
	if err != nil {
		return state{}, err
	}
	stats := map[int]procfs.ProcStat{}
	for _, p := range all {
		if st, err := p.Stat(); err == nil { // else it has ended
			stats[p.PID] = st
		}
	}
	ours := map[int]bool{root: true}
	for pid, st := range maps.All(stats) {
		switch {
		case descends(pid, stats, ours):
			maps.Copy(s.waited, threads(fs, pid))
		case pid != kthreadd && st.PPID != kthreadd:
			s.others += float64(st.UTime+st.STime)/userHz + float64(st.CUTime+st.CSTime)/userHz
		}
	}
	return s, nil
}

// descends reports whether a process is one of ours, or a child of one, and so on up.
func descends(pid int, stats map[int]procfs.ProcStat, ours map[int]bool) bool {
	if is, known := ours[pid]; known {
		return is
	}
	st, there := stats[pid]
	is := there && st.PPID != 0 && descends(st.PPID, stats, ours)
	ours[pid] = is
	return is
}

// threads reads how long each thread of a process has waited for a CPU.
func threads(fs procfs.FS, pid int) map[thread]time.Duration {
	all, err := fs.AllThreads(pid)
	waited := map[thread]time.Duration{}
	if err != nil {
		return waited
	}
	for _, t := range all {
		st, err := t.Stat()
		if err != nil {
			continue
		}
		if sched, err := t.Schedstat(); err == nil {
			waited[thread{t.PID, st.Starttime}] = time.Duration(sched.WaitingNanoseconds)
		}
	}
	return waited
}
