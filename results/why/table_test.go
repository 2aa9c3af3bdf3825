// SPDX-License-Identifier: MIT

package why

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func table(t *testing.T, r *Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The table has what differs and what that leaves, and JSON has all.
func TestTable(t *testing.T) {
	r, _ := experiment{seed: 4, reps: 10, b: map[string]float64{"copy": -60, "socket": 12}, calls: 2}.explain(t)
	text := table(t, r)
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"why, SUT: uring/tcp (B) beside tcp/tcp (A)",
		"profiled by cpu-clock, 10+10 runs, within this boot", "CPU, all classes", "copy", "explained", "unexplained",
		"function, own time", "copy_function0", "softirq copy", "system calls of the data path 1/GB",
		"corrected over classes and counters of both"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "  copy") > strings.Index(text, "  socket") {
		t.Errorf("the copy does not come first:\n%s", text)
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Ends []struct {
			End     string
			CPU     struct{ Difference float64 }
			Classes []struct {
				Name       string
				Difference float64
				Differs    bool
				PAdjusted  *float64 `json:"p_adjusted"`
				Lo, Hi     *float64
			}
			Unexplained struct{ Difference float64 }
			Explained   map[string]any
		}
	}
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	e := back.Ends[0]
	if e.End != "sut" || len(e.Classes) != len(classNames) || e.Classes[0].Name != "copy" ||
		!e.Classes[0].Differs || e.Classes[0].Lo == nil || e.Classes[0].PAdjusted == nil {
		t.Errorf("%s", out)
	}
	for _, verdict := range []string{"p", "p_adjusted", "least_p", "differs"} {
		if v, ok := e.Explained[verdict]; ok || e.Explained["lo"] == nil {
			t.Errorf("classes that were chosen have %s %v: %v", verdict, v, e.Explained)
		}
	}
	sum := 0.0
	for _, c := range e.Classes {
		sum += c.Difference
	}
	if math.Abs(sum-e.CPU.Difference) > 1e-6 {
		t.Errorf("the classes of the JSON add up to %v, CPU %v", sum, e.CPU.Difference)
	}
}
