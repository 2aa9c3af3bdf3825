// SPDX-License-Identifier: MIT

package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestCheckSpans(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: true, 1: true, mostWatched: true, -1: false, mostWatched + 1: false,
		1<<63 - 1: false, -1 << 63: false} {
		if err := CheckWatched(d); (err == nil) != ok {
			t.Errorf("--duration %v: %v", d, err)
		}
	}
	for d, ok := range map[time.Duration]bool{time.Second: true, mostInterval: true, 0: false, -time.Second: false,
		time.Second - 1: false, mostInterval + 1: false, 1<<63 - 1: false} {
		if err := CheckInterval("interval", d, time.Second); (err == nil) != ok {
			t.Errorf("--interval %v: %v", d, err)
		}
	}
}

// What was left out is all; what was given and is empty is a mistake.
func TestCheckGiven(t *testing.T) {
	for _, x := range []struct {
		args []string
		ok   bool
	}{
		{nil, true},
		{[]string{"--pid", "1", "--port", "1", "--dev", "lo", "--source", "a"}, true},
		{[]string{"--pid", "0"}, false},
		{[]string{"--port", "0"}, false},
		{[]string{"--dev", ""}, false},
		{[]string{"--dev="}, false},
		{[]string{"--source", ""}, false},
	} {
		cmd := &cobra.Command{Use: "x"}
		fs := cmd.Flags()
		fs.Int("pid", 0, "")
		fs.Uint16("port", 0, "")
		fs.String("dev", "", "")
		fs.StringSlice("source", nil, "")
		if err := fs.Parse(x.args); err != nil {
			t.Fatal(err)
		}
		if err := CheckGiven(cmd, "pid", "port", "dev", "source"); (err == nil) != x.ok {
			t.Errorf("%q: %v", x.args, err)
		}
	}
}
