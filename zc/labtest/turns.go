// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// turnsPlan lets modes take turns, verified: two rounds of one start. The area is so small that its
// buffers must come back many times.
const turnsPlan = `name: turns
purpose: check
order: turns
turn: %v
sut: {host: "netns:%s", dev: %s%s}
tg: {host: "netns:%s"%s}
factors: {rx: [%s], tx: [tcp], touch: [verify], message: [1M], area_bytes: [%d]}
sndbuf: 256K
rcvbuf: 1M
duration: %v
ramp_up: %v
warmup: false
repetitions: 1
stall: 1m
gates: {foreign_cores: off, replace: 0}
%s`

// Turns are modes that take turns.
type Turns struct {
	RX     []string
	Flows  int    // of each, whose threads share a CPU; 0: one
	Layout string // of CPUs; "": as found
}

func (x Turns) flows() int { return max(x.Flows, 1) }

// plan returns the experiment file.
func (x Turns) plan(turn time.Duration) string {
	sut, tg, more := "", "", ""
	if x.Flows > 1 { // the guest has two CPUs
		sut, tg, more = ", cpu: 1", ", cpu: 0", fmt.Sprintf("flows: %d\n", x.Flows)
	}
	if x.Layout != "" {
		more += fmt.Sprintf("cpu_layout: %s\n", x.Layout)
	}
	return fmt.Sprintf(turnsPlan, turn, RXNS, RXDev, sut, TXNS, tg, strings.Join(x.RX, ", "), turnsArea, 4*turn, 2*turn,
		more)
}

const turnsArea = 16 << 20

// turnsLengths are tried one after another: a busy machine that emulates is late.
var turnsLengths = []time.Duration{200 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second}

// Take runs zcbench with receive modes that take turns, of which some take queues over: each flow
// of these has its own queue all the time, all its payload is verified and none of it copied, what
// it was given comes back, and none of it runs, or receives anything, in others' turns. All is put
// back.
func (x Turns) Take(t *testing.T) {
	Need(t)
	if x.Flows > 1 {
		channels(t, 2*x.Flows+2, func() { x.take(t) })
		return
	}
	x.take(t)
}

func (x Turns) take(t *testing.T) {
	before := DeviceState(t) + slowStart(t)
	for try, turn := range turnsLengths {
		watch := watchTurns(t)
		recs, said := x.records(t, turn)
		seen := watch.end(t)
		if after := DeviceState(t) + slowStart(t); after != before {
			t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
		}
		if slices.ContainsFunc(recs, lateTurns) && try+1 < len(turnsLengths) && !t.Failed() {
			t.Logf("turns of %v: %s", turn, said)
			continue
		}
		if len(recs) != len(x.RX) {
			t.Fatalf("%d records: %s", len(recs), said)
		}
		for _, r := range recs {
			x.check(t, r)
		}
		seen.check(t, recs)
		return
	}
}

// lateTurns reports whether a run was so late that too little came to tell. Others' figures of what
// came are as good, whenever turns were read.
func lateTurns(r results.Record) bool {
	return r.Verdict != results.OK && r.Gate == plan.ByEnvironment && (r.SUT.Bytes == nil || *r.SUT.Bytes == 0 ||
		*r.SUT.TotalBytes < 2*turnsArea || strings.Contains(r.Reason, "before the flow was open"))
}

// records runs the plan, and returns its records and what it said.
func (x Turns) records(t *testing.T, turn time.Duration) ([]results.Record, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "turns.yaml")
	if err := os.WriteFile(file, []byte(x.plan(turn)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zcbench", "matrix", file, "--out", filepath.Join(dir, "out")).CombinedOutput()
	j, jerr := results.Read(filepath.Join(dir, "out", results.JournalFile))
	if jerr != nil {
		t.Fatalf("%v: %v\n%s", jerr, err, out)
	}
	return j.Records, string(out)
}

// check holds a record against what it must be. Of one that was late its figures are as good.
func (x Turns) check(t *testing.T, r results.Record) {
	t.Helper()
	h, name := r.SUT, r.Cell.ID
	if r.Verdict != results.OK && r.Gate != plan.ByEnvironment || r.Turns == nil || r.Turns.Cells != len(x.RX) ||
		len(h.Flows) != x.flows() {
		t.Errorf("%s: %s: %s; turns %+v, %d flows", name, r.Verdict, r.Reason, r.Turns, len(h.Flows))
		return
	}
	if r.TG.TotalBytes == nil || h.TotalBytes == nil || *h.TotalBytes != *r.TG.TotalBytes || h.Bytes == nil ||
		*h.Bytes == 0 || h.Mismatches == nil || *h.Mismatches != 0 {
		t.Errorf("%s: %s bytes, %s in all, of %s sent; %s mismatches", name, count(h.Bytes), count(h.TotalBytes),
			count(r.TG.TotalBytes), count(h.Mismatches))
		return
	}
	if share := metric(h, "placement_flow_share"); x.Layout != "" && (h.Env.Placement == "" || share < .95) {
		t.Errorf("%s: placed by %q, and %v of the looks found its softirq there", name, h.Env.Placement, share)
	}
	if !r.Cell.TakesQueues() {
		if !strings.Contains(strings.Join(r.Warnings, "; "), "headers were split") {
			t.Errorf("%s: nothing says that headers were split: %q", name, r.Warnings)
		}
		return
	}
	checkZeroCopy(t, r)
}

// checkZeroCopy holds the proof of a mode that takes queues over, of its own turns.
func checkZeroCopy(t *testing.T, r results.Record) {
	t.Helper()
	h, name := r.SUT, r.Cell.ID
	if h.ZeroCopyBytes == nil || *h.ZeroCopyBytes != *h.Bytes || *h.CopiedBytes != 0 {
		t.Errorf("%s: %s of %s bytes without a copy, %s copied", name, count(h.ZeroCopyBytes), count(h.Bytes),
			count(h.CopiedBytes))
	}
	for i, f := range h.Flows {
		if f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed {
			t.Errorf("%s: flow %d was to come by queue %s, and came by %s", name, i, place(f.Queue), place(f.Landed))
		}
		if f.Bytes == nil || *f.Bytes == 0 {
			t.Errorf("%s: flow %d received %s bytes", name, i, count(f.Bytes))
		}
	}
	if bound := ofFlows(h, r.Cell.RX+"_provider_bound"); len(bound) != len(h.Flows) ||
		slices.ContainsFunc(bound, func(v float64) bool { return v != 1 }) {
		t.Errorf("%s: its queues were not its own at the end: %v", name, bound)
	}
	if *h.TotalBytes < 2*turnsArea {
		t.Errorf("%s: %d bytes do not show that buffers come back", name, *h.TotalBytes)
	}
	got, freed := ofFlows(h, "devmem_tokens_received"), ofFlows(h, "devmem_tokens_freed")
	if !slices.Equal(got, freed) {
		t.Errorf("%s: %v fragments received, %v given back", name, got, freed)
	}
	if n := ofFlows(h, "zcrx_uncounted_copied_bytes"); slices.ContainsFunc(n, func(v float64) bool { return v > 0 }) {
		t.Errorf("%s: %v bytes were copied without being counted", name, n)
	}
}

// ofFlows returns a data path's figure of each flow.
func ofFlows(h results.Host, name string) (all []float64) {
	for _, m := range h.Metrics {
		flow, of, _ := strings.Cut(m.Name, "_")
		if m.Name == name || of == name && flowN.MatchString(flow) {
			all = append(all, m.Value)
		}
	}
	return all
}

var flowN = regexp.MustCompile(`^flow[0-9]+$`)

// slowStart reads what a plan with turns sets of both ends' namespaces.
func slowStart(t *testing.T) string {
	t.Helper()
	all := ""
	for _, ns := range []string{RXNS, TXNS} {
		s, err := In(ns, func() (string, error) {
			b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_slow_start_after_idle")
			return string(b), err
		})
		if err != nil {
			t.Fatal(err)
		}
		all += " slow start " + s
	}
	return all
}

// turnsWatch looks at queues and threads while turns are under way.
type turnsWatch struct {
	stop chan struct{}
	done chan turnsSeen
}

// turnsSeen is what was seen at each look.
type turnsSeen struct {
	looks []turnsLook
	err   error
}

type turnsLook struct {
	bytes   map[int]uint64 // received, by queue
	taken   map[int]bool   // by queue: its memory is an application's
	threads map[int]uint64 // how often data paths of the SUT's agent gave their CPU away, by their threads' numbers
}

const (
	turnsEvery   = 50 * time.Millisecond // between two looks
	processEvery = 20                    // looks between two at which processes there are
)

func watchTurns(t *testing.T) *turnsWatch {
	w := &turnsWatch{stop: make(chan struct{}), done: make(chan turnsSeen, 1)}
	go func() {
		seen, err := In(RXNS, func() (turnsSeen, error) {
			d, err := nic.Open(RXDev)
			if err != nil {
				return turnsSeen{}, err
			}
			defer d.Close()
			return w.look(d), nil
		})
		seen.err = errors.Join(seen.err, err)
		w.done <- seen
	}()
	return w
}

func (w *turnsWatch) look(d *nic.Device) (seen turnsSeen) {
	var processes []string
	for pause := new(sock.Sleeper); ; pause.Sleep(turnsEvery) {
		select {
		case <-w.stop:
			return seen
		default:
		}
		l := turnsLook{bytes: map[int]uint64{}, taken: map[int]bool{}, threads: map[int]uint64{}}
		queues, err := d.Queues()
		if err != nil {
			return turnsSeen{err: err}
		}
		taken := 0
		for _, q := range queues {
			if q.Provider != nic.ProviderNone {
				l.taken[q.ID] = true
				taken++
			}
		}
		if taken > 0 {
			if len(seen.looks)%processEvery == 0 || processes == nil {
				processes = agents()
			}
			l.threads = threadsOf(processes)
		}
		all, err := d.QueueStats()
		if err != nil {
			return turnsSeen{err: err}
		}
		for id, s := range all {
			l.bytes[id] = s.Bytes
		}
		seen.looks = append(seen.looks, l)
	}
}

func (w *turnsWatch) end(t *testing.T) turnsSeen {
	t.Helper()
	close(w.stop)
	seen := <-w.done
	if seen.err != nil {
		t.Fatal(seen.err)
	}
	return seen
}

// agents lists the folders of the processes of agents in this network namespace, which in the guest
// have init's name.
func agents() (all []string) {
	here, _ := os.Readlink("/proc/thread-self/ns/net")
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		dir := filepath.Dir(name)
		ns, _ := os.Readlink(filepath.Join(dir, "ns/net"))
		if b, err := os.ReadFile(name); err == nil && ns == here && strings.HasSuffix(string(b), "\x00agent\x00") {
			all = append(all, dir)
		}
	}
	return all
}

// pinnedTo finds the CPUs that a thread may run on, if that is one: those of data paths.
var pinnedTo = regexp.MustCompile(`\nCpus_allowed_list:\t[0-9]+\n`)

// threadsOf counts how often each thread of processes that moves a flow gave its CPU away.
func threadsOf(processes []string) map[int]uint64 {
	all := map[int]uint64{}
	for _, dir := range processes {
		tasks, _ := filepath.Glob(filepath.Join(dir, "task", "[0-9]*", "status"))
		for _, task := range tasks {
			b, err := os.ReadFile(task)
			tid, n := 0, uint64(0)
			if _, serr := fmt.Sscan(filepath.Base(filepath.Dir(task)), &tid); err != nil || serr != nil {
				continue
			}
			if !pinnedTo.Match(b) {
				continue
			}
			if _, after, ok := strings.Cut(string(b), "\nvoluntary_ctxt_switches:"); ok {
				_, _ = fmt.Sscan(after, &n)
			}
			all[tid] = n
		}
	}
	return all
}

// starts splits what was seen into the starts: in each, the looks while all queues were taken.
func (s turnsSeen) starts(queues []int) (all [][]turnsLook) {
	open := false
	for _, l := range s.looks {
		both := !slices.ContainsFunc(queues, func(q int) bool { return !l.taken[q] })
		if both && !open {
			all = append(all, nil)
		}
		if open = both; both {
			all[len(all)-1] = append(all[len(all)-1], l)
		}
	}
	return all
}

// check holds what was seen against what turns are: each start has its queues from its beginning to
// its end, of the queues of two modes only those of one receive at a time, and the threads of a
// mode sleep in others' turns.
func (s turnsSeen) check(t *testing.T, recs []results.Record) {
	t.Helper()
	of := map[string][]int{} // queues of a mode
	var queues []int
	for _, r := range recs {
		for _, f := range r.SUT.Flows {
			if r.Cell.TakesQueues() && f.Queue != nil {
				of[r.Cell.RX], queues = append(of[r.Cell.RX], *f.Queue), append(queues, *f.Queue)
			}
		}
	}
	slices.Sort(queues)
	if len(slices.Compact(slices.Clone(queues))) != len(queues) {
		t.Fatalf("modes have a queue together: %v", of)
	}
	starts := s.starts(queues)
	if len(starts) != 1 {
		t.Errorf("queues %v were taken together %d times, in one start", queues, len(starts))
	}
	for _, looks := range starts {
		checkAlone(t, looks, of)
		for rx, own := range of {
			checkAsleep(t, looks, rx, own)
		}
	}
}

// grew reports whether any of some queues received something between look i and the one before.
// Less than a packet's worth is no payload: acknowledgements, or neighbours that are looked for.
func grew(looks []turnsLook, i int, queues []int) bool {
	return i > 0 && i < len(looks) && slices.ContainsFunc(queues,
		func(q int) bool { return looks[i].bytes[q] > looks[i-1].bytes[q]+1024 })
}

// checkAlone holds that of two modes one receives at a time: both do between two looks only where
// the turn of one ends between these, and that of the other begins.
func checkAlone(t *testing.T, looks []turnsLook, of map[string][]int) {
	t.Helper()
	run := 0
	for i := range looks {
		n := 0
		for _, queues := range of {
			if grew(looks, i, queues) {
				n++
			}
		}
		if run++; n < 2 {
			run = 0
		}
		if run >= 3 {
			t.Errorf("queues %v received at the same time in %d looks in a row", of, run)
			return
		}
	}
}

// checkAsleep holds that there are as many threads as the mode has queues which often run while
// these receive, and which in others' turns are woken by nothing but signals of Go's runtime, at
// most a hundred a second.
func checkAsleep(t *testing.T, looks []turnsLook, rx string, queues []int) {
	t.Helper()
	const (
		often   = 20
		signals = 6   // between two looks
		more    = 1.2 // so many times as often it is woken in its turns: by this it is known to be the mode's
	)
	found, seen := 0, ""
	threads := map[int]bool{} // of all looks: one may have ended before the last
	for _, l := range looks {
		for tid := range l.threads {
			threads[tid] = true
		}
	}
	for tid := range threads {
		on, idle := uint64(0), uint64(0)
		off, own, began := 0, 0, false
		for i := 1; i < len(looks); i++ {
			now, was := looks[i].threads[tid], looks[i-1].threads[tid]
			if was == 0 || now < was {
				continue
			}
			if began = began || grew(looks, i, queues); !began {
				continue
			}
			switch {
			case grew(looks, i, queues):
				on += now - was
				own++
			case !grew(looks, i-1, queues) && !grew(looks, i+1, queues) && others(looks, i, queues):
				off++
				idle += now - was
			}
		}
		if on < often {
			continue
		}
		if perLook := float64(idle) / float64(max(off, 1)); off > 0 && perLook <= signals &&
			float64(on)/float64(own) >= more*perLook {
			t.Logf("%s: its thread slept %d times in %d looks of its turns, and %d times in %d of others'", rx, on, own,
				idle, off)
			found++
			continue
		}
		seen += fmt.Sprintf("; thread %d: %d in %d looks of its turns, %d in %d of others'", tid, on, own, idle, off)
	}
	if found < len(queues) {
		t.Errorf("%s: %d threads run in the turns of queues %v alone%s", rx, found, queues, seen)
	}
}

// others reports whether another queue receives.
func others(looks []turnsLook, i int, queues []int) bool {
	for q := range looks[i].bytes {
		if !slices.Contains(queues, q) && grew(looks, i, []int{q}) {
			return true
		}
	}
	return false
}
