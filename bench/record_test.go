// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// An end whose agent answered with an error, or did not answer, has failed, unless the error says
// that it cannot run.
func TestSaidBy(t *testing.T) {
	for _, x := range []struct {
		err  error
		want judge.Said
	}{
		{nil, judge.Said{Verdict: results.OK, Bytes: 5}},
		{errors.New("the agent ended"), judge.Said{Verdict: results.Failed, Reason: "the agent ended", Gone: true}},
		{&wire.Error{Message: "m", How: "h", Verdict: results.OK}, judge.Said{Verdict: results.Failed, Reason: "m",
			Fix: "h"}},
		{&wire.Error{Message: "no queue", How: "a NIC", Verdict: results.Unsupported},
			judge.Said{Verdict: results.Unsupported, Reason: "no queue", Fix: "a NIC"}},
		{&wire.Error{Message: "listen: in use", How: "another", Verdict: results.Failed},
			judge.Said{Verdict: results.Failed, Reason: "listen: in use", Fix: "another"}},
	} {
		res := wire.EndResult{Verdict: results.OK, Total: stream.Counters{Bytes: 5}}
		if got := saidBy(&res, x.err); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%v: %+v, want %+v", x.err, got, x.want)
		}
	}
}

// CPU figures that cannot be told apart are left out, never guessed.
func TestMarkSharing(t *testing.T) {
	on := func(boot string) *host.Host {
		return &host.Host{Info: wire.HelloResult{Env: measure.Env{BootID: boot}}}
	}
	for _, x := range []struct {
		name           string
		tg             string
		sutCPU, tgCPU  int
		machine, flags bool
	}{
		{"two machines", "n", -1, -1, false, false},
		{"pinned apart", "m", 1, 0, true, false},
		{"on one CPU", "m", 1, 1, true, true},
		{"one not pinned", "m", 1, -1, true, true},
	} {
		r := &Runner{SUT: on("m"), TG: on(x.tg), Opt: Options{SUTFlows: []place.CPUs{{App: x.sutCPU}},
			TGFlows: []place.CPUs{{App: x.tgCPU}}}}
		busy := 0.5
		rec := results.Record{SUT: results.Host{CPUBusyCores: &busy}, TG: results.Host{CPUBusyCores: &busy}}
		r.markSharing(&rec)
		has := func(flag string) bool { return strings.Contains(strings.Join(rec.Flags, " "), flag) }
		if has(results.FlagSharedMachine) != x.machine || has(results.FlagSharedCPU) != x.flags ||
			(rec.SUT.CPUBusyCores == nil) != x.flags || (rec.TG.CPUBusyCores == nil) != x.flags {
			t.Errorf("%s: flags %v, SUT busy %v", x.name, rec.Flags, rec.SUT.CPUBusyCores)
		}
		if x.flags && len(rec.Warnings) == 0 {
			t.Errorf("%s: no warning", x.name)
		}
	}
}

// A record that no journal takes is a failed run in it, and not the session's end.
func TestKeepUnfit(t *testing.T) {
	dir := t.TempDir()
	w, err := results.Create(filepath.Join(dir, "out"), results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := &Session{Journal: w}
	watts := math.Inf(1)
	for i, h := range []results.Host{{Name: "sut", Series: []measure.Series{{Name: "m", T: []int64{1}}}},
		{Name: "sut", PowerW: &watts}} {
		rec := results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Rep: i, Cell: cell("tcp", "tcp"),
			Verdict: results.OK, SUT: h}
		kept, err := s.keep(rec)
		if err != nil || kept.Verdict != results.Failed ||
			!strings.Contains(kept.Reason, "its figures cannot be stored:") || kept.RunID != rec.RunID ||
			kept.SUT.Name != "sut" || kept.Rep != i {
			t.Errorf("%+v, %v", kept, err)
		}
	}
	j, err := results.Read(w.Path())
	if err != nil || len(j.Records) != 2 || len(j.Skipped) != 0 || j.Records[1].Verdict != results.Failed {
		t.Errorf("%+v, %v", j, err)
	}
}

// Without CPUs near an interface, or any at all, nothing is chosen.
func TestChooseCPUsOfNone(t *testing.T) {
	for _, same := range []bool{false, true} {
		if s, g := chooseCPUs(nil, nil, same); s.App != -1 || g.App != -1 {
			t.Errorf("%+v %+v", s, g)
		}
	}
	if got := online([]int{9, 1}, []int{0, 1}); len(got) != 1 || got[0] != 1 {
		t.Errorf("%v", got)
	}
}
