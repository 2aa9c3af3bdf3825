// SPDX-License-Identifier: MIT

package nicqueue

import (
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

// A number that a NAPI instance had before it was renewed still tells the queue, of that interface
// alone. One instance that serves several queues tells the first.
func TestRenewedNAPIs(t *testing.T) {
	var n napis
	const index = 7
	n.keep(index, []nic.Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 102}, {ID: 2, NAPI: 102}, {ID: 3}})
	n.keep(index, []nic.Queue{{ID: 0, NAPI: 103}, {ID: 1, NAPI: 104}})
	for napi, want := range map[uint32]int{101: 0, 102: 1, 103: 0, 104: 1} {
		if id, ok := n.queue(index, napi); !ok || id != want {
			t.Errorf("NAPI %d: queue %d (%v), not %d", napi, id, ok, want)
		}
	}
	for _, c := range []struct {
		index int
		napi  uint32
	}{{index, 0}, {index, 105}, {index + 1, 101}} {
		if id, ok := n.queue(c.index, c.napi); ok {
			t.Errorf("NAPI %d of interface %d: queue %d", c.napi, c.index, id)
		}
	}
}

// A queue's pool is known by its number, though its NAPI instance was renewed, and by the instance
// where it has another pool; never one of another provider, nor one that is only waited for.
func TestPoolOf(t *testing.T) {
	const first, io = 5, nic.ProviderIOUring
	q := nic.Queue{ID: 1, NAPI: 102, Provider: io}
	for name, c := range map[string]struct {
		pools []nic.PagePool
		want  uint64
	}{
		"by its number":          {[]nic.PagePool{{ID: 9, NAPI: 102, Provider: io}, {ID: first, NAPI: 104, Provider: io}}, first},
		"another one since":      {[]nic.PagePool{{ID: 9, NAPI: 102, Provider: io}, {ID: 10, NAPI: 104, Provider: io}}, 9},
		"detached":               {[]nic.PagePool{{ID: first, NAPI: 102, Provider: io, Detached: true}}, 0},
		"of the kernel's memory": {[]nic.PagePool{{ID: first, NAPI: 102}, {ID: 9, NAPI: 102}}, 0},
		"of another queue":       {[]nic.PagePool{{ID: 9, NAPI: 104, Provider: io}}, 0},
	} {
		if p, ok := poolOf(c.pools, q, first); ok != (c.want != 0) || p.ID != c.want {
			t.Errorf("%s: pool %d, want %d", name, p.ID, c.want)
		}
	}
	if p, ok := poolOf([]nic.PagePool{{ID: 9, NAPI: 102, Provider: io}}, q, 0); !ok || p.ID != 9 {
		t.Errorf("not known yet: %+v", p)
	}
}
