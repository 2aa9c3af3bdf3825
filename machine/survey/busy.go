// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Processes are the processes of a host at one time: what each has used of the CPUs.
type Processes struct {
	at    time.Time
	ticks map[string]process // by PID and start
}

type process struct {
	name string // the plain one
	used int64  // ticks of 1/100 s
}

// ReadProcesses notes what all processes have used so far, but for those of this program.
func ReadProcesses(fs FS, now time.Time) Processes {
	p := Processes{at: now, ticks: map[string]process{}}
	own, interfaces := os.Getpid(), interfacesOf(fs)
	all, _ := numbered(fs.proc("[0-9]*"), "")
	for _, dir := range all {
		pid := filepath.Base(dir)
		name, rest, ok := statOf(text(filepath.Join(dir, "stat")))
		// 11 and 12 are utime and stime, 19 starttime, behind the name and the state
		// (fs/proc/array.c: do_task_stat).
		if !ok || len(rest) < 20 || pid == strconv.Itoa(own) || strings.HasPrefix(name, "zcbench") {
			continue
		}
		user, err1 := strconv.ParseInt(rest[11], 10, 64)
		system, err2 := strconv.ParseInt(rest[12], 10, 64)
		if err1 == nil && err2 == nil {
			p.ticks[pid+" "+rest[19]] = process{plainName(name, interfaces), user + system}
		}
	}
	return p
}

// statOf takes /proc/PID/stat apart: the name may have blanks and brackets.
func statOf(s string) (name string, rest []string, ok bool) {
	from, to := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if from < 0 || to < from {
		return "", nil, false
	}
	return s[from+1 : to], strings.Fields(s[to+1:]), true
}

const (
	ticksPerSecond = 100
	// leastTicks is what a process must have used: one tick may be chance.
	leastTicks = 3
	// LeastGap is how far two readings must be apart: three ticks of it are a tenth.
	LeastGap  = 300 * time.Millisecond
	mostNames = 50
)

// Busy lists the processes that used a twentieth of a CPU or more between two readings, by name
// alone, those that used most first.
func Busy(before, after Processes) []Fact {
	seconds := after.at.Sub(before.at).Seconds()
	if seconds <= 0 {
		return nil
	}
	used := map[string]int64{}
	for id, a := range after.ticks {
		if d := a.used - before.ticks[id].used; d > 0 { // one that began meanwhile has used all since
			used[a.name] += d
		}
	}
	var names []string
	for name, n := range used {
		if n >= leastTicks && float64(n)/ticksPerSecond/seconds >= 0.05 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return int(used[b]-used[a])*1000 + strings.Compare(a, b) })
	var out []Fact
	for _, name := range names[:min(len(names), mostNames)] {
		out = append(out, Fact{Name: "busy/" + name, Value: fmt.Sprintf("%.1f cores",
			float64(used[name])/ticksPerSecond/seconds)})
	}
	return out
}
