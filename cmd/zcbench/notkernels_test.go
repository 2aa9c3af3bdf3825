// SPDX-License-Identifier: MIT

package main

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/covered"
)

// In a container with lxcfs a run has no CPU figures, and says so: in its columns, its flags, its
// warnings and before it begins.
func TestIntegrationInAContainer(t *testing.T) {
	needRoot(t)
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	program, out := filepath.Join(built.Dir(t), "zcbench"), filepath.Join(t.TempDir(), "out")
	var said []byte
	covered.Run(t, map[string]string{"/proc/stat": string(stat), "/sys/devices/system/cpu/online": "4000\n"}, func() {
		said, err = exec.Command(program, "demo", "--rx", "tcp", "--tx", "tcp", "--duration", "300ms", "--repetitions",
			"1", "--out", out).CombinedOutput()
	})
	text := strings.Join(strings.Fields(string(said)), " ")
	for _, want := range []string{"CPU time is not measured", "flagged: cpu-missing", "measure on the host"} {
		if err != nil || !strings.Contains(text, want) {
			t.Fatalf("%v: the answer lacks %q: %s", err, want, said)
		}
	}
	f, err := os.Open(filepath.Join(out, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		for i, name := range rows[0] {
			switch v := row[i]; {
			case strings.HasPrefix(name, "cpu_") && strings.HasSuffix(name, "_cores") && v != "",
				name == "stat_coverage" && v != "":
				t.Errorf("%s = %s", name, v)
			case name == "flags" && !strings.Contains(v, "cpu-missing"), name == "throughput_gbps" && v == "":
				t.Errorf("%s = %q", name, v)
			}
		}
	}
}
