// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/zcbench/zcbench/results/metrics"
)

// mustBeDocumented holds the rows of a run's metrics.csv against what docs/metrics.md is
// made of: names, units, sources.
func mustBeDocumented(t *testing.T, rows []map[string]string) {
	t.Helper()
	told := map[string]bool{}
	for _, r := range rows {
		if name := r["metric"]; !told[name] {
			told[name] = true
			if err := metrics.CheckRow(name, r["unit"], r["source"]); err != nil {
				t.Error(err)
			}
		}
	}
}
