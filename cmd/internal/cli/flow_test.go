// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	_ "github.com/zcbench/zcbench/plan/modes"
)

// A sender of its own is held to a request for each flow, too.
func TestScheduleOfTooFewRequests(t *testing.T) {
	e := End{Role: stream.TX, Cell: plan.Cell{TX: "rr", Flows: 4, RRRate: 1}, Duration: 2 * time.Second}
	const want = "--rr-rate 1: 2 requests are due in 2s, of all flows together, and each of 4 flows needs one: " +
		"ask for 2 or more, or measure for 4s or longer, or use at most 2 flows"
	status := (*StatusError)(nil)
	if _, err := e.Schedule(0); !errors.As(err, &status) || status.Status != Usage || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	e.Duration = 4 * time.Second
	if s, err := e.Schedule(0); err != nil || s.DurationNs != 4e9 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A list of CPUs is for the threads, in turn: those that there are not get none.
func TestCPUsOfThreads(t *testing.T) {
	for _, x := range []struct {
		flags, cpus []string
		want        string
	}{
		{[]string{"--mode", "zcrx", "--flows", "4", "--queues", "1", "--cpu", "1,2,3,4"}, nil,
			"--cpu: 4 CPUs are named, but this end has at most 1 thread: name no more than 1, or give"},
		{[]string{"--mode", "tcp", "--cpu", "1,2"}, nil,
			"--cpu: 2 CPUs are named, but this end has at most 1 thread: name no more than 1, or use more flows"},
		{[]string{"--mode", "zcrx", "--flows", "6", "--queues", "3", "--cpu", "1,2"},
			[]string{"1", "2", "1", "1", "2", "1"}, ""},
		{[]string{"--mode", "tcp", "--flows", "3", "--cpu", "1,2,3"}, []string{"1", "2", "3"}, ""},
	} {
		e, cmd := End{Role: stream.RX}, &cobra.Command{}
		e.AddFlags(cmd)
		if err := cmd.ParseFlags(x.flags); err != nil {
			t.Fatal(err)
		}
		s, err := e.Spec(cmd, "")
		var cpus []string
		for _, f := range s.Flows {
			cpus = append(cpus, strconv.Itoa(f.CPU))
		}
		if !slices.Equal(cpus, x.cpus) || x.want == "" && err != nil || x.want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), x.want)) {
			t.Errorf("%v: CPUs %v, %v", x.flags, cpus, err)
		}
	}
}
