// SPDX-License-Identifier: MIT

package lab

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// Every kernel boots ten times in a row, none hangs and none complains. The times
// are told, not judged: they are the machine's.
func TestIntegrationLabBoots(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	for _, suite := range Suites {
		var ready []float64
		for i := range 10 {
			exit, stdout, log, err := execHelper(t, "uptime", ExecOptions{MachineOptions: MachineOptions{Kernel: suite},
				OwnBoot: true})
			if exit != 0 || err != nil {
				t.Fatalf("%s, boot %d: %d, %v\n%s", suite, i+1, exit, err, log)
			}
			first, _, _ := strings.Cut(stdout, " ")
			s, err := strconv.ParseFloat(first, 64)
			if err != nil {
				t.Fatalf("%s, boot %d: uptime %q", suite, i+1, stdout)
			}
			ready = append(ready, s)
		}
		slices.Sort(ready)
		t.Logf("%s: %d boots, seconds from the kernel's start to the command: least %.1f, median %.1f, most %.1f",
			suite, len(ready), ready[0], (ready[4]+ready[5])/2, ready[9])
	}
}
