// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

func end(v results.Verdict, reason, fix string, bytes uint64) wire.EndResult {
	return wire.EndResult{Verdict: v, Reason: reason, Fix: fix, Total: stream.Counters{Bytes: bytes}}
}

func TestVerdict(t *testing.T) {
	blaming := func(r wire.EndResult) wire.EndResult { r.BlamesPeer = true; return r }
	aborted := blaming(end(results.Failed, stream.ErrAborted.Error(), "", 5))
	gone := errors.New("host sut: the agent ended: signal: killed")
	for _, x := range []struct {
		name   string
		out    outcome
		v      results.Verdict
		reason string
		fix    string
	}{
		{name: "both well", out: outcome{sut: end(results.OK, "", "", 5), tg: end(results.OK, "", "", 5)},
			v: results.OK},
		{name: "byte counts", out: outcome{sut: end(results.OK, "", "", 4), tg: end(results.OK, "", "", 5)},
			v: results.Invalid, reason: "byte counts differ: 5 sent, 4 received", fix: "report"},
		{name: "one invalid", out: outcome{sut: end(results.OK, "", "", 4), tg: end(results.Invalid, "copied", "a NIC",
			5)}, v: results.Invalid, reason: "TG: copied", fix: "a NIC"},
		{name: "both invalid", out: outcome{sut: end(results.Invalid, "mapped nothing", "align", 4),
			tg: end(results.Invalid, "copied", "a NIC", 5)}, v: results.Invalid,
			reason: "SUT: mapped nothing; TG: copied", fix: "align"},
		{name: "failed beats invalid", out: outcome{sut: end(results.Invalid, "x", "", 4),
			tg: end(results.Failed, "stalled", "", 5)}, v: results.Failed, reason: "TG: stalled"},
		{name: "other called off", out: outcome{sut: aborted, tg: end(results.Failed, "send: no memory", "more", 5)},
			v: results.Failed, reason: "TG: send: no memory", fix: "more"},
		{name: "unsupported while running",
			out: outcome{sut: blaming(end(results.Failed, "the flow ended early", "", 0)),
				tg: end(results.Unsupported, "register buffers: no memory", "ulimit", 0)}, v: results.Unsupported,
			reason: "TG: register buffers: no memory", fix: "ulimit"},
		{name: "both called off", out: outcome{sut: aborted, tg: aborted}, v: results.Failed,
			reason: "SUT: the run was aborted; TG: the run was aborted"},
		{name: "SUT's agent gone", out: outcome{sutErr: gone, tg: end(results.Failed, "send: broken pipe",
			"the receiver broke off", 5)}, v: results.Failed, reason: "SUT: host sut: the agent ended: signal: killed"},
		{name: "TG's agent gone", out: outcome{tgErr: gone, sut: end(results.Failed, "the flow ended early", "", 5)},
			v: results.Failed, reason: "TG: host sut: the agent ended: signal: killed"},
		{name: "both agents gone", out: outcome{sutErr: gone, tgErr: gone}, v: results.Failed, reason: "SUT: " +
			gone.Error() + "; TG: " + gone.Error()},
		{name: "aborted", out: outcome{calledOff: errors.New("enough"), sut: aborted,
			tg: end(results.Failed, "send: broken pipe", "the receiver broke off", 5)}, v: results.Failed,
			reason: "the run was aborted: enough"},
		{name: "called off too late", out: outcome{calledOff: errors.New("enough"), sut: end(results.OK, "", "", 5),
			tg: end(results.OK, "", "", 5)}, v: results.OK},
		{name: "an end said nothing", out: outcome{sut: end(results.OK, "", "", 5)}, v: results.Failed,
			reason: "an end gave no verdict", fix: "report"},
		{name: "an unknown verdict", out: outcome{sut: end("splendid", "", "", 5), tg: end(results.OK, "", "", 5)},
			v: results.Failed, reason: "an end gave no verdict", fix: "report"},
		{name: "an error that is ok", out: outcome{sutErr: &wire.Error{Message: "m", How: "h", Verdict: results.OK},
			tg: end(results.OK, "", "", 5)}, v: results.Failed, reason: "SUT: m", fix: "h"},
		{name: "unsupported", out: outcome{sutErr: &wire.Error{Message: "no queue", How: "a NIC",
			Verdict: results.Unsupported}}, v: results.Unsupported, reason: "SUT: no queue", fix: "a NIC"},
		{name: "TG unsupported", out: outcome{tgErr: &wire.Error{Message: "no memory", How: "ulimit",
			Verdict: results.Unsupported}}, v: results.Unsupported, reason: "TG: no memory", fix: "ulimit"},
		{name: "port in use", out: outcome{sutErr: &wire.Error{Message: "listen: in use", How: "another",
			Verdict: results.Failed}}, v: results.Failed, reason: "SUT: listen: in use", fix: "another"},
	} {
		t.Run(x.name, func(t *testing.T) {
			v, reason, fix := verdict(x.out, false)
			if v != x.v || reason != x.reason || (x.fix == "") != (fix == "") || !strings.Contains(fix, x.fix) {
				t.Errorf("%s: %q, fix %q\nwant %s: %q, fix %q", v, reason, fix, x.v, x.reason, x.fix)
			}
		})
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
		if has(FlagSharedMachine) != x.machine || has(FlagSharedCPU) != x.flags ||
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
