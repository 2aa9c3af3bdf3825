// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/zc/dmabuf"
)

// Memory that a host lacks has a rung that says so and what to do, and keeps no mode from running.
func TestMemoryKinds(t *testing.T) {
	f := good("bnxt_en")
	f.memories = []dmabuf.Found{{Name: "heap", Has: "system"}, {Name: "drm", Why: "no such file", Fix: "modprobe vgem"}}
	if c := find(t, f, "devmem", "memory heap"); c.Status != "ok" || c.Found != "system" {
		t.Errorf("%+v", c)
	}
	if c := find(t, f, "devmem", "memory drm"); c.Status != "ok" ||
		c.Found != "none: no such file; for --area drm: modprobe vgem" {
		t.Errorf("%+v", c)
	}
	for _, c := range f.climb(receive(t, "tcp")) {
		if strings.HasPrefix(c.Name, "memory ") {
			t.Errorf("of tcp: %+v", c)
		}
	}
}

// What this host has is looked for without error: each kind is there, or has words and a fix.
func TestLookAtMemory(t *testing.T) {
	all := dmabuf.Look()
	if len(all) < 2 {
		t.Fatalf("%+v", all)
	}
	for _, m := range all {
		if m.Has == "" && (m.Why == "" || m.Fix == "") {
			t.Errorf("%+v", m)
		}
		t.Logf("%+v", m)
	}
}
