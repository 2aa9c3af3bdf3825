// SPDX-License-Identifier: MIT

package specflag

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/plan/matrix"
	_ "github.com/zcbench/zcbench/plan/modes" // registers them
)

// All send modes are those of payload: round trips are made where they are asked for.
func TestAllModes(t *testing.T) {
	for args, want := range map[string]bool{"": false, "--tx rr": true, "--tx tcp --tx rr --in-flight 4": true} {
		var f Flags
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), true)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		s, err := f.Finish("x")
		if err != nil {
			t.Fatal(args, err)
		}
		for _, c := range s.Cells {
			if c.RoundTrips() && (!want || c.MessageBytes != 0) || !c.RoundTrips() && c.InFlight != 0 {
				t.Errorf("%q: %+v", args, c)
			}
		}
		if got := strings.Contains(s.Cells[len(s.Cells)-1].ID, "/rr"); got != want {
			t.Errorf("%q: round trips %t", args, got)
		}
	}
}

// The TG's CPUs are its own: they say nothing of the SUT's layout.
func TestLayoutsOfBothEnds(t *testing.T) {
	for _, x := range []struct{ args, sut, tg, wrong string }{
		{"--layout 2cpu", "2cpu", "", ""},
		{"--layout 1cpu --tg-layout 2cpu", "1cpu", "2cpu", ""},
		{"--cpus 3,2 --tg-cpus 5,4", "2cpu", "", ""}, // the same
		{"--cpus 3,3 --tg-cpus 5,4", "1cpu", "2cpu", ""},
		{"--tg-cpus 5,4", "", "2cpu", ""},
		{"--layout 1cpu --tg-cpus 5,4", "1cpu", "2cpu", ""},
		{"--layout 2cpu --cpus 3,3", "", "", "--cpus 3,3 is the layout 1cpu, not 2cpu"},
		{"--tg-layout 1cpu --tg-cpus 5,4", "", "", "--tg-cpus 5,4 is the layout 2cpu, not 1cpu"},
		{"--tg-layout 1cpu --tg-cpu -1", "", "", "--tg-layout 1cpu needs pinned threads"},
		{"--layout 1cpu --tg-cpu -1", "", "", "--layout 1cpu needs pinned threads"},
		{"--layout 1cpu --tg-cpu -1 --tg-layout 3cpu", "", "", `"3cpu" is not one of`},
	} {
		var f Flags
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), false)
		err := cmd.ParseFlags(strings.Fields(x.args))
		var s *matrix.Spec
		if err == nil {
			s, err = f.Finish("x")
		}
		switch {
		case x.wrong != "":
			if err == nil || !strings.Contains(err.Error(), x.wrong) {
				t.Errorf("%s: %v, want %q", x.args, err, x.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", x.args, err)
		case s.Cells[0].CPULayout != x.sut || s.Cells[0].TGCPULayout != x.tg:
			t.Errorf("%s: %+v", x.args, s.Cells[0])
		}
	}
}

// Flows of one queue with a thread each cannot have the layout of one CPU: that is known before any
// host is asked.
func TestLayoutOfSharedQueues(t *testing.T) {
	for args, wrong := range map[string]string{
		"--rx tcp --tx tcp --layout 1cpu --flows 2 --queues 1":             "2 flows of tcp share one RX queue",
		"--rx tcp --tx tcp --layout 1cpu --flows 2 --queue 3":              "2 flows of tcp share one RX queue",
		"--rx tcp --tx tcp --cpus 3,3 --flows 2 --queues 1":                "2 flows of tcp share one RX queue",
		"--rx tcp --tx tcp --layout 1cpu --flows 2 --queues 1 --sut-cpu 2": "",
		"--rx tcp --tx tcp --layout 2cpu --flows 2 --queues 1":             "",
		"--rx tcp --tx tcp --layout 1cpu --flows 2 --queues 2":             "",
		"--rx zcrx --tx tcp --layout 1cpu --flows 2 --queues 1":            "",
	} {
		var f Flags
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), false)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(args, err)
		}
		_, err := f.Finish("x")
		var s *cli.StatusError
		if (err == nil) != (wrong == "") || err != nil && (!strings.Contains(err.Error(), wrong) ||
			!errors.As(err, &s) || s.Status != cli.Usage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
