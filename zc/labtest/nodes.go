// SPDX-License-Identifier: MIT

package labtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Nodes runs zcbench in a guest of two NUMA nodes with a CPU each, the receiver's thread on the
// second and the sender's on the first: what the NIC writes into, and what it reads from, is on
// the node of the thread that uses it, and the record says so.
func Nodes(t *testing.T, kinds ...[]string) {
	Need(t)
	if b, err := os.ReadFile("/sys/devices/system/node/online"); err != nil || strings.TrimSpace(string(b)) != "0-1" {
		t.Fatalf("this guest has nodes %q (%v), and must have two: mk/lane.sh has the command", b, err)
	}
	for _, k := range kinds {
		t.Run(strings.Join(k, " "), func(t *testing.T) {
			args := append([]string{"--sut-cpu", "1", "--node", "any", "--tg-cpu", "0", "--tg-node", "any"}, k[1:]...)
			r := measured(t, k[0], args...)
			for _, x := range []struct {
				name, want string
				h          *results.Host
			}{{"SUT", "memory_node1_share", &r.SUT}, {"TG", "memory_node0_share", &r.TG}} {
				at := slices.IndexFunc(x.h.Metrics, func(m measure.Metric) bool { return m.Named() == x.want })
				if at < 0 || x.h.Metrics[at].Value != 1 {
					t.Errorf("%s: %s is metric %d of %d, and not 1: its memory is elsewhere, or nobody knows where",
						x.name, x.want, at, len(x.h.Metrics))
				}
			}
			for _, w := range r.Warnings {
				if strings.Contains(w, "NUMA node") {
					t.Errorf("warning: %s", w)
				}
			}
		})
	}
}
