// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// stat is /proc/PID/stat of a process.
func stat(pid int, name string, user, system, start int) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 4194560 1 0 0 0 %d %d 0 0 20 0 1 0 %d 1 1\n", pid, name, user, system,
		start)
}

// Names of those that used the CPUs, and no argument of any.
func TestBusy(t *testing.T) {
	at := time.Unix(1000, 0)
	files := map[string]string{
		"proc/10/stat": stat(10, "mysqld) (x", 100, 0, 5), "proc/11/stat": stat(11, "idle", 100, 0, 5),
		"proc/12/stat": stat(12, "kworker/3:1-events", 0, 50, 5),
		"proc/13/stat": stat(13, "kworker/u8:2", 0, 50, 5), "proc/14/stat": stat(14, "reused", 900, 0, 5),
		"proc/10/cmdline": "mysqld\x00--password=geheim",
		"proc/15/stat":    stat(15, "zcbench", 0, 0, 5),
	}
	before := ReadProcesses(fixture(t, files), at)
	files["proc/10/stat"] = stat(10, "mysqld) (x", 180, 20, 5)
	files["proc/12/stat"], files["proc/13/stat"] = stat(12, "kworker/3:1-events", 0, 60, 5),
		stat(13, "kworker/u8:2", 0, 60, 5)
	files["proc/14/stat"] = stat(14, "reused", 40, 0, 99) // another process of that number
	files["proc/15/stat"] = stat(15, "zcbench", 500, 0, 5)
	files["proc/16/stat"] = stat(16, "a tick", 2, 0, 99)
	got := Busy(before, ReadProcesses(fixture(t, files), at.Add(time.Second)))
	var lines []string
	for _, f := range got {
		lines = append(lines, f.Name+" "+f.Value)
	}
	if s := strings.Join(lines, "; "); s != "busy/mysqld) (x 1.0 cores; busy/reused 0.4 cores; busy/kworker 0.2 cores" {
		t.Error(s)
	}
	if Busy(before, before) != nil {
		t.Error("busy in no time")
	}
}
