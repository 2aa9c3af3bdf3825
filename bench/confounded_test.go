// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan/matrix"
)

// What changes with a factor that the plan names is told, unless it was given a value.
func TestTogether(t *testing.T) {
	const buffer, layout = "message also changes the receiver's buffer, which is as long as a message: to keep " +
		"it, set rx_buffer, such as hot or cold",
		"cpu_layout also changes the sender's CPUs: to keep them, set tg_cpu_layout"
	for text, want := range map[string][]string{
		"factors: {rx: [tcp, uring], tx: tcp, message: [64K, 1M]}\n":                       {buffer},
		"factors: {rx: [tcp, uring], tx: tcp, message: [64K, 1M]}\nrx_buffer: hot\n":       nil,
		"factors: {rx: [tcp, uring], tx: tcp, message: [64K, 1M], rx_buffer: [0, cold]}\n": {buffer},
		// has no such buffer
		"factors: {rx: zcrx, tx: tcp, message: [64K, 1M]}\n":                                           nil,
		"factors: {rx: tcp, tx: tcp, cpu_layout: [1cpu, 2cpu]}\n":                                      {layout},
		"factors: {rx: tcp, tx: tcp, cpu_layout: [1cpu, 2cpu]}\ntg_cpu_layout: 2cpu\n":                 nil,
		"factors: {rx: tcp, tx: tcp, cpu_layout: [1cpu, 2cpu], tg_cpu_layout: [1cpu, 2cpu]}\n":         nil,
		"factors: {rx: tcp, tx: [tcp, sendfile]}\n":                                                    nil,
		"factors: {rx: tcp, tx: tcp, cpu_layout: [1cpu, 2cpu], message: [64K, 1M]}\nrx_buffer: cold\n": {layout},
	} {
		s, err := matrix.Parse("x", []byte("name: x\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		got := confounded(s)
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", text, got, want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", text, got[i], want[i])
			}
		}
	}
}
