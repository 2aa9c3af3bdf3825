// SPDX-License-Identifier: MIT

package covered

import (
	"os"
	"testing"
)

func TestRun(t *testing.T) {
	before, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	Run(t, map[string]string{"/proc/loadavg": "made up\n", "/sys/devices/system/cpu/online": "0-99\n"}, func() {
		for path, want := range map[string]string{"/proc/loadavg": "made up\n",
			"/sys/devices/system/cpu/online": "0-99\n"} {
			if got, err := os.ReadFile(path); string(got) != want {
				t.Errorf("%s: %q, %v", path, got, err)
			}
		}
	})
	if after, err := os.ReadFile("/proc/loadavg"); err != nil || string(after) == "made up\n" || len(before) == 0 {
		t.Errorf("outside: %q, %v", after, err)
	}
}
