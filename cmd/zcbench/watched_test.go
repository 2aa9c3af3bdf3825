// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
)

// refused runs a command line that must be wrong usage: with a context that has ended, so that what
// begins all the same ends. It returns what was wrong.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.UsageError(err) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := cmd.ExecuteContext(ctx)
	if s := (*cli.StatusError)(nil); !errors.As(err, &s) || s.Status != cli.Usage || out.Len() > 0 {
		t.Errorf("zcbench %q was not refused: %v\n%s", args, err, &out)
		return ""
	}
	return err.Error()
}

// A time, a number or a list that means nothing is refused by its flag's name, before anything is
// looked at: also 0 where it was asked for, what is too large for a clock, and what is no number.
func TestNothingIsWatchedForNothing(t *testing.T) {
	spans := []string{"-1s", "-1ns", "10001h", "2562047h", "99999999h", "NaN", "inf", "1e9s", "x", ""}
	intervals := append([]string{"0", "0s", "1ns", "9ms", "25h"}, spans...)
	counts := []string{"0", "-1", "99999999999999999999", "NaN", "1.5", ""}
	for command, flags := range map[string]map[string][]string{
		"probe": {"duration": spans, "interval": intervals, "pid": counts, "syscalls": counts,
			"sample": append([]string{"3", "1152921504606846976"}, counts...),
			"port":   append([]string{"65536"}, counts...), "local-port": counts, "remote-port": counts, "dev": {""},
			"netns": {""}, "addr": {""}, "cgroup": {""}},
		"profile": {"duration": spans, "frequency": append([]string{"1000000"}, counts...), "top": counts,
			"pid": append([]string{"4194305"}, counts...), "cpu": {"", "-1", "1-0", "0-99999999999", "x", "NaN", ","},
			"flame": {""}},
		"counters": {"interval": intervals, "count": counts, "dev": {""}, "netns": {""}},
		"power": {"duration": spans, "interval": intervals, "every": intervals,
			"source": {"", ",", "x", "rapl?uncertainty=NaN", "rapl?uncertainty=inf"}, "csv": {""}},
	} {
		for flag, values := range flags {
			for _, v := range values {
				if said := refused(t, command, "--"+flag+"="+v); !strings.Contains(said, flag) && flag != "source" {
					t.Errorf("zcbench %s --%s %q: %s", command, flag, v, said)
				}
			}
		}
	}
	for _, args := range [][]string{{"probe", "--drops", "--interval", "0"}, {"probe", "--overhead", "--duration", "0"},
		{"probe", "--overhead", "--duration", "999ms"}} {
		if said := refused(t, args...); !strings.Contains(said, args[2]) {
			t.Errorf("zcbench %q: %s", args, said)
		}
	}
	if status, out, stderr := zcbench(t, "probe", "--interval", "0"); status != 2 || out != "" ||
		!strings.Contains(stderr, "zcbench: --interval 0s: must be 100ms to ") {
		t.Errorf("exit status %d, %s%s", status, out, stderr)
	}
}
