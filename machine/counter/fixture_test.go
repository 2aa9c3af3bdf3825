// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

// fixture opens testdata/NAME as a host.
func fixture(t *testing.T, name string) FS {
	t.Helper()
	sys := filepath.Join("testdata", name, "sys")
	if name == "after" {
		sys = filepath.Join("testdata", "before", "sys")
	}
	fs, err := NewFS(filepath.Join("testdata", name, "proc"), sys)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// value fails the test unless p is measured and close to want.
func value(t *testing.T, what string, p *float64, want float64) {
	t.Helper()
	switch {
	case p == nil:
		t.Errorf("%s is not measured, want %v", what, want)
	case !near(*p, want):
		t.Errorf("%s = %v, want %v", what, *p, want)
	}
}

func metric(t *testing.T, ms []measure.Metric, name string) measure.Metric {
	t.Helper()
	for _, m := range ms {
		if m.Name == name {
			return m
		}
	}
	t.Errorf("no metric %s", name)
	return measure.Metric{}
}

func TestNewFSRefuses(t *testing.T) {
	for _, dir := range []string{"testdata/nothing", "doc.go"} {
		if _, err := NewFS(dir, "testdata"); err == nil {
			t.Errorf("NewFS(%q) did not fail", dir)
		}
	}
}
