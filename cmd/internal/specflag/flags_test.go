// SPDX-License-Identifier: MIT

package specflag

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan/matrix"
)

const _ = kind.Pure

// What a run cannot have is named as it was typed, with what to do instead.
func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--rx tcp --tx rr --pace 1G": "--pace 1G: it applies to all modes but tx rr, " +
			"tx rr-msg-zerocopy, tx rr-uring-zc, tx rr-devmem, " +
			"tx crr, tx udp-rr, and not to this run: leave it out; for round trips there is --rr-rate",
		"--rx udp --tx udp-rr --message-size 4K": "--message-size 4K: it applies to all modes but " +
			"tx rr, tx rr-msg-zerocopy, tx rr-uring-zc, tx rr-devmem, " +
			"tx crr, tx udp-rr, and not to this run: leave it out; for round trips there is --request, " +
			"--response",
		"--rx tcp --tx rr --rr-timeout 1s": "--rr-timeout 1s: it applies to udp-rr, and " +
			"not to this run: leave it out",
		"--rx udp --rx udp-gro --tx tcp": "rx udp carries datagrams, but tx tcp carries a " +
			"stream: choose modes of one kind: with rx udp one of tx udp, udp-gso, udp-uring, udp-rr; with tx " +
			"tcp one of rx tcp, tcp-trunc, tcp-mmap, uring, zcrx, zcrx-nodev, devmem",
		"--rx zcrx --tx tcp --flows 4 --queues 1 --sut-cpu 2,3": "--sut-cpu: 2 CPUs are named, but this end has " +
			"at most 1 thread: name no more than 1, or give the flows more RX queues (queues), each of which has " +
			"one thread",
		"--rx tcp --tx tcp --flows 2 --tg-cpu 2,3,4": "--tg-cpu: 3 CPUs are named, but this end has " +
			"at most 2 threads: name no more than 2, or use more flows (flows)",
		"--rx tcp --tx tcp --request 1K": "--request 1K: it applies to rr, " +
			"rr-msg-zerocopy, rr-uring-zc, rr-devmem, crr, udp-rr, and " +
			"not to this run: leave it out",
		"--rx tcp --tx rr --flows 64 --rr-rate 10 --duration 2s": "--rr-rate 10: 20 requests are due in 2s, of " +
			"all flows together, and each of 64 flows needs one: " +
			"ask for 32 or more, or measure for 6.4s or longer, or use at most 20 flows",
	} {
		var f Flags
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), true, "duration")
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Finish("x"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// Of a flag that is said twice the last one counts, as scripts expect that add theirs to others',
// and where several modes are usual both do.
func TestModesSaidTwice(t *testing.T) {
	for usual, want := range map[string]string{"tcp": "uring/rr", "": "tcp/tcp tcp/rr uring/tcp uring/rr"} {
		f := Flags{Usual: usual}
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), true, "duration")
		if err := cmd.ParseFlags(strings.Fields("--rx tcp --tx tcp --tx rr --rx uring")); err != nil {
			t.Fatal(err)
		}
		s, err := f.Finish("x")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range s.Cells {
			ids = append(ids, s.Cells[i].RX+"/"+s.Cells[i].TX)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("usual %q: %s, want %s", usual, got, want)
		}
	}
}

// Each pair of modes has each number of flows that was asked for, and what has none of them is an
// error.
func TestNumbersOfFlows(t *testing.T) {
	for args, want := range map[string]string{
		"--rx tcp,uring --tx tcp": "tcp/tcp, tcp/tcp flows=4, uring/tcp, uring/tcp flows=4",
		"--rx udp --tx udp":       "udp/udp, udp/udp flows=4",
	} {
		f := Flags{Numbers: []int{1, 4}, Without: []string{"flows"}}
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), true, "duration")
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		s, err := f.Finish("x")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range s.Cells {
			ids = append(ids, s.Cells[i].ID)
			if n := s.Cells[i].NFlows(); (n == 4) != strings.Contains(s.Cells[i].ID, "flows=4") {
				t.Errorf("%s has %d flows", s.Cells[i].ID, n)
			}
		}
		if got := strings.Join(ids, ", "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// Turns that nobody asked for are not taken where this user cannot have them, nor with power, which
// takes long ones.
func TestChooseOrderWithoutRoot(t *testing.T) {
	defer func(was func() bool) { mayTakeTurns = was }(mayTakeTurns)
	for _, x := range []struct {
		args  string
		may   bool
		power bool
		turns bool
		why   string
	}{
		{"", true, false, true, ""},
		{"", false, false, false, "takes root"},
		{"", true, true, false, "only turns of a second and more can tell (turn: 1s)"},
		{"--turn 1s", true, true, true, ""},
		{"--order turns", false, false, true, ""}, // the hosts refuse them
	} {
		mayTakeTurns = func() bool { return x.may }
		f := Flags{Usual: "tcp"}
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), true, "duration", "order", "turn", "sample_interval")
		f.Spec.SUT.Host, f.Spec.TG.Host = "local", "local"
		if err := cmd.ParseFlags(strings.Fields("--rx tcp,tcp-trunc " + x.args)); err != nil {
			t.Fatal(err)
		}
		s, err := f.Finish("run")
		if err != nil {
			t.Fatal(err)
		}
		line := f.ChooseOrder(0, x.power)
		if (s.TurnLength() > 0) != x.turns || !strings.Contains(line, x.why) || (line == "") != (x.why == "") {
			t.Errorf("%q, may %v: turns of %v: %q", x.args, x.may, s.TurnLength(), line)
		}
	}
}
