// SPDX-License-Identifier: MIT

package bpf_test

import (
	"testing"

	"github.com/zcbench/zcbench/bpf"
)

// Stock kernels take every program at its best place.
func TestLabHooks(t *testing.T) {
	if !inLab() {
		t.Skip(`needs the lab's kernels: go test -exec "$PWD/bin/zcbench lab exec --" ./bpf`)
	}
	p := newPair(t)
	l := openLatency(t, p.SUT.Netns, bpf.Filter{})
	path, err := bpf.OpenPath(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer path.Close()
	for _, h := range append(l.Hooks, path.Hooks...) {
		if h.Reason != "" {
			t.Errorf("%s: %s/%s: %s", h.Stage, h.Backend, h.Function, h.Reason)
		}
	}
	seen := map[string]bool{}
	for _, h := range l.Hooks {
		seen[h.Stage] = true
	}
	for _, s := range bpf.Stages() {
		if !seen[s] {
			t.Errorf("%s has no program", s)
		}
	}
}
