// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// Who was planned and never ran is named, whatever else is known.
func TestNeverRan(t *testing.T) {
	j := plantest.Journal(1, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("zcrx", "tcp", 40, 1),
		made("tcp-mmap", "tcp", 10, 1))
	j.Records = slices.DeleteFunc(j.Records, func(r results.Record) bool {
		return r.Cell.RX == "tcp-mmap" ||
			r.Cell.RX == "zcrx" && r.Rep > 0
	})
	for i := range j.Records {
		j.Records[i].Warmup = j.Records[i].Cell.RX == "zcrx"
	}
	a := report.Summarize(j).Answer
	s := sentence(t, a, answer.NotRun, "")
	wants(t, "never ran", s.Text, "Planned but not run, except perhaps as warm-ups: zcrx/tcp and tcp-mmap/tcp.")
	if s.Section != answer.Absent || len(s.StandsOn) != 2 {
		t.Errorf("%+v", s)
	}
	bears(t, "never ran", a)
}

// Watts lead where they were measured, and are missed where they were not.
func TestPerWatt(t *testing.T) {
	a, b := made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.05, 1)
	a.Watts, b.Watts = 100, 50
	got := of(8, a, b)
	wants(t, "watts", sentence(t, got, answer.Leads, "roi_power_total").Text,
		"Per watt (throughput^2 / watts of both hosts): uring/tcp leads")
	if slices.ContainsFunc(got.Sentences, func(s answer.Sentence) bool { return s.Kind == answer.NoFigure }) {
		t.Error("power was measured")
	}
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)), answer.NoFigure, "roi_power_total")
	if s.Command != "zcbench power --source list" || len(s.StandsOn) != 2 || s.StandsOn[0].Verdict != "not measured" {
		t.Errorf("%+v", s)
	}
}

// What cannot run here is named by what is to blame, with the one command that would show it.
func TestUnsupported(t *testing.T) {
	no := func(rx, tx, reason string) plantest.Cell {
		return plantest.Cell{Cell: plantest.Modes(rx, tx), Reason: reason, Fix: "get one"}
	}
	const queue, dmabuf, kernel = "no queue management in driver veth", "no netmem in driver veth",
		"the kernel has no ZCRX without a device"
	a := of(6, made("tcp", "tcp", 20, 1), made("tcp", "msg-zerocopy", 21, 1), no("zcrx", "tcp", queue),
		no("zcrx", "msg-zerocopy", queue), no("devmem", "tcp", queue), no("devmem", "msg-zerocopy", queue),
		no("tcp", "devmem", dmabuf), no("zcrx", "devmem", queue), no("zcrx-nodev", "tcp", kernel),
		no("zcrx-nodev", "msg-zerocopy", kernel), no("odd", "tcp", "it is odd"))
	var got []string
	for _, s := range a.In(answer.Absent) {
		got = append(got, s.Command+"; "+s.Text+fmt.Sprint(s.Stops()))
	}
	want := []string{
		"zcbench lab demo; Cannot run here: receiver zcrx, receiver devmem and sender devmem. zcbench lab demo " +
			"shows them, with proof, on this machine, without a special NIC.[1 2]",
		"zcbench lab demo --all; Cannot run here: receiver zcrx-nodev. zcbench lab demo --all runs it on a newer " +
			"kernel, on this machine.[3]",
		"; Cannot run here: receiver odd: it is odd. Fix: get one.[4]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is refused because of what was asked for, or of the state of the hosts, is the cell's, with
// its reason and its fix: the mode can run here, and no lab has to show it.
func TestBlocked(t *testing.T) {
	c := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Reason: "eth0: find RX queue 99: it has 0-3",
		Fix: "choose one of them (--queue)", Blocked: true}
	const want = "; Cannot run as things stand: zcrx/tcp: eth0: find RX queue 99: it has 0-3. Fix: choose one of " +
		"them (--queue)."
	all := map[string][]plantest.Cell{"alone": {c}, "beside others": {made("tcp", "tcp", 20, 1), c}}
	for name, cells := range all {
		s := of(6, cells...).In(answer.Absent)
		if len(s) != 1 || s[0].Command+"; "+s[0].Text != want {
			t.Errorf("%s: %+v, want %q", name, s, want)
		}
	}
}

// In the lab nobody is sent to the lab: the reason and the fix are said.
func TestUnsupportedInTheLab(t *testing.T) {
	t.Setenv(answer.LabEnv, "7.0.0")
	c := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Reason: "the kernel has no zero-copy receive",
		Fix: "use Linux 6.15 or later"}
	s := of(6, made("tcp", "tcp", 20, 1), c).In(answer.Absent)
	const want = "; Cannot run here: receiver zcrx: the kernel has no zero-copy receive. Fix: use Linux 6.15 or later."
	if len(s) != 1 || s[0].Command+"; "+s[0].Text != want {
		t.Errorf("%+v, want %q", s, want)
	}
}

// A negative control that was copied did what it is for.
func TestControlFoundOut(t *testing.T) {
	c := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Verdict: results.Invalid,
		Reason: "SUT: the kernel copied 100.0 % of the payload of zcrx (limit 1 %)"}
	c.Control, c.ID = plan.WrongQueue, "zcrx/tcp control"
	wants(t, "not as intended", sentence(t, of(6, c), answer.Nothing, "").Text, "Nothing: no run gave a number")
	c.Reason += plan.AsIntended
	s := sentence(t, of(6, c), answer.Nothing, "")
	wants(t, "found out", s.Text, "The negative control was found out, as intended")
	if len(s.Stops()) != 1 {
		t.Errorf("%+v cites nothing", s)
	}
	other := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Verdict: results.Failed, Reason: "no route"}
	wants(t, "beside a cell", sentence(t, of(6, c, other), answer.Nothing, "").Text, "Nothing: no run gave a number")
}

// Who claims zero copy is told by the kernel's count.
func TestProofs(t *testing.T) {
	zc, copied := made("zcrx", "tcp", 30, 1), made("tcp", "msg-zerocopy", 20, 1)
	zc.RXCopied, copied.TXCopied = new(0.02), new(100.0)
	a := of(6, zc, copied)
	wants(t, "zero copy", sentence(t, a, answer.Proved, "").Text,
		"by the kernel's own count of bytes: receiver zcrx (less than 0.1 % copied).")
	wants(t, "copied", sentence(t, a, answer.Copied, "").Text, "Not zero copy here",
		"sender msg-zerocopy (100 % copied)")
	untold := made("tcp", "uring-zc", 20, 1)
	untold.TXCopied, untold.TXUntold = new(0.0), 64
	a = of(6, zc, untold)
	wants(t, "untold", sentence(t, a, answer.Proved, "").Text,
		"sender uring-zc (0 % copied; of up to 64.0 % the kernel does not tell).")
	other := zc
	other.MTU, other.ID, other.RXCopied = 9000, "zcrx/tcp mtu=9000", new(40.0)
	a = of(6, zc, other)
	wants(t, "both", sentence(t, a, answer.Proved, "").Text, "receiver zcrx in zcrx/tcp (less than 0.1 % copied).")
	wants(t, "both", sentence(t, a, answer.Copied, "").Text, "receiver zcrx in zcrx/tcp mtu=9000 (40.0 % copied).")
}

// A mode is to blame where a reason names it and nothing was measured with it; one reason a cell
// will do.
func TestInvalid(t *testing.T) {
	bad := func(rx, tx string, v results.Verdict, reason string) plantest.Cell {
		return plantest.Cell{Cell: plantest.Modes(rx, tx), Verdict: v, Reason: reason}
	}
	const copied, load = "TG: the kernel copied 100.0 % of the payload of msg-zerocopy (limit 1 %)",
		"SUT: foreign load 0.21 cores on CPU 1 (limit 0.05)"
	j := plantest.Journal(1, 6, made("tcp", "tcp", 20, 1), bad("tcp", "msg-zerocopy", results.Invalid, copied),
		bad("uring", "sendfile", results.Invalid, load),
		bad("uring", "tcp", results.Failed, "dial: connection refused"))
	for i := range j.Records {
		if r := &j.Records[i]; r.Rep == 3 && r.Cell.TX == "sendfile" {
			r.Reason = "SUT: no payload arrived"
		}
	}
	var got []string
	for _, s := range report.Summarize(j).Answer.In(answer.Absent) {
		got = append(got, fmt.Sprintf("%s: %s %v", s.Kind, s.Text, s.Stops()))
	}
	want := []string{
		"invalid: Sender msg-zerocopy is invalid: " + copied + ". [1]",
		"invalid: uring/sendfile is invalid: " + load + ". [2]",
		"failed: uring/tcp failed: dial: connection refused. [4]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
