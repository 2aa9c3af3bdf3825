// SPDX-License-Identifier: MIT

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindDrivers(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"kernel/drivers/char/ipmi/ipmi_si.ko.xz", "kernel/net/sched/sch-fq.ko"} {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := findDrivers(dir, []string{"sch_fq", "ipmi_si"})
	if err != nil || len(got) != 2 || filepath.Base(got[0]) != "sch-fq.ko" || filepath.Base(got[1]) != "ipmi_si.ko.xz" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := findDrivers(dir, []string{"nosuch"}); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("%v", err)
	}
}
