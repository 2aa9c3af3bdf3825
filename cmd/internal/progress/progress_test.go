// SPDX-License-Identifier: MIT

package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results"
)

// A plan that is played again is counted anew.
func TestReplayIsCountedAnew(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	for rep := range 2 {
		p.Plan(2, time.Second)
		for i := range 2 {
			p.Done(results.Record{Cell: results.Cell{ID: "tcp/tcp"}, Rep: 2*rep + i, Verdict: results.Failed})
		}
		p.End()
	}
	if s := out.String(); strings.Count(s, "[  1/2]") != 2 || strings.Count(s, "[  2/2]") != 2 || strings.Contains(s, "3/2") {
		t.Error(s)
	}
}
