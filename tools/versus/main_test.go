// SPDX-License-Identifier: MIT

package main

import (
	"io"
	"strings"
	"testing"
)

// Wrong usage is exit status 2, and names the flag; nothing is run.
func TestWrongUsage(t *testing.T) {
	for _, line := range []string{
		"--layouts 1cpu", "--layouts apart,apart", "--flows 0", "--flows 1,65", "--flows x",
		"--flows 99999999999999999999", "--rivals kperf",
		"--sender-cpu 1024", "--receiver-cpu -1", "--receiver-cpu 0,x", "--duration 1500ms", "--duration 0s",
		"--reps 0", "--turns 5ms", "--turns 2s", "--turns x", "--mtu 600", "--nice 20", "--only (", "--no-such",
	} {
		cmd := command()
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		err := cmd.Execute()
		flag, _, _ := strings.Cut(line, " ")
		if err == nil || status(err) != 2 || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: error %v, want wrong usage of %s", line, err, flag)
		}
	}
}
