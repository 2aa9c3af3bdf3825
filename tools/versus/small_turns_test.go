// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Of datagrams there are no turns, and each comparison that is left has both targets.
func TestTripsAlone(t *testing.T) {
	left := tripsAlone(Tools{}.smallPairs())
	if len(left) != 2 {
		t.Fatalf("%d comparisons of round trips", len(left))
	}
	for _, p := range left {
		if !p.trips || p.P50.Max == 0 || p.CPU.Max == 0 {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
}

// CPU time is that of all requests between the first turn and the last; their rate that of the
// time in turns.
func TestUsedSample(t *testing.T) {
	u := used{first: rtnl.Stats{RxPackets: 10}, last: rtnl.Stats{RxPackets: 50_010}, rx: time.Second, tx: time.Second,
		pace: 40_000, paced: 2 * time.Second}
	at := func(ns int64, idle uint64) counter.CPUSnapshot {
		return counter.CPUSnapshot{AtNs: ns, CPUs: []counter.CPUTicks{{CPU: 0}, {CPU: 1}, {CPU: 2, Idle: idle}}}
	}
	u.cpus.Add(at(0, 0), at(2e9, 50))
	got := u.sample(0.25)
	want := Sample{PerSecond: 20_000, CPUUs: 50, Foreign: 0.25}
	want.CPUUs = u.total(0.25).Seconds() * 1e6 / 50_000
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || got.CPUUs < 40 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// tooSlow tells of a failure that it is the machine's: the tools had too little of its CPUs.
func tooSlow(err error) bool {
	return strings.Contains(err.Error(), "its turns took longer than") ||
		strings.Contains(err.Error(), "nothing came in its turns")
}

// Both sides of a comparison have turns, their tools end as they should, and both say how long
// their round trips took.
func TestIntegrationSmallInTurns(t *testing.T) {
	const module = "github.com/zcbench/zcbench/cmd/"
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, module+"zcrecv", module+"zcsend")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := options{duration: 240 * time.Millisecond, turns: 60 * time.Millisecond, mtu: 1500}
	o.tools = Tools{SenderCPUs: []int{0}, ReceiverCPUs: []int{1}, Zcrecv: filepath.Join(bin, "zcrecv"),
		Zcsend: filepath.Join(bin, "zcsend")}
	o.other = o.tools
	links, err := o.smallLinks()
	if err != nil {
		t.Fatal(err)
	}
	defer closeLinks(links)
	last := stretch(2, o.duration, o.turns)
	o.last(last)
	for i := range tripsAlone(smallBuilds(o.tools, o.other)) {
		var p smallPair
		var got [2]Sample
		port := firstPort + 20*i
		for { // where the CPUs were others' the tools are told to last longer
			p = tripsAlone(smallBuilds(o.tools, o.other))[i] // with how long they last
			got, err = o.pairOfSmall(t.Context(), links, &smallOutcome{pair: p}, i%2, [2]int{port, port + 1})
			if err == nil || last > time.Minute || !tooSlow(err) {
				break
			}
			t.Logf("%s: %v", p.Name, err)
			last *= 2
			o.last(last)
			port += 2
		}
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for side, s := range got {
			if s.PerSecond <= 0 || s.CPUUs <= 0 || s.P50Us == nil || *s.P50Us <= 0 {
				t.Errorf("%s, side %d: %+v", p.Name, side, s)
			}
		}
	}
}
