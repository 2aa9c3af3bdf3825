// SPDX-License-Identifier: MIT

package nicqueue

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

// A number that a NAPI instance had before it was renewed still tells the queue, of that interface
// alone. One instance that serves several queues tells all of them.
func TestRenewedNAPIs(t *testing.T) {
	var n napis
	const index = 7
	n.keep(index, []nic.Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 102}, {ID: 2, NAPI: 102}, {ID: 3}})
	n.keep(index, []nic.Queue{{ID: 0, NAPI: 103}, {ID: 1, NAPI: 104}})
	for napi, want := range map[uint32][]int{101: {0}, 102: {1, 2}, 103: {0}, 104: {1}} {
		if ids := n.queues(index, napi); !slices.Equal(ids, want) {
			t.Errorf("NAPI %d: queues %v, not %v", napi, ids, want)
		}
	}
	for _, c := range []struct {
		index int
		napi  uint32
	}{{index, 0}, {index, 105}, {index + 1, 101}} {
		if ids := n.queues(c.index, c.napi); ids != nil {
			t.Errorf("NAPI %d of interface %d: queues %v", c.napi, c.index, ids)
		}
	}
}

// A queue that is being restarted has no number for a while: its instance is shared all the same.
// What all queues tell is how it is now.
func TestNAPIsOfRestart(t *testing.T) {
	var n napis
	const index = 7
	for _, x := range []struct {
		all  []nic.Queue
		want []int
	}{
		{[]nic.Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 102}, {ID: 5, NAPI: 102}}, []int{1, 5}},
		{[]nic.Queue{{ID: 0, NAPI: 101}, {ID: 1}, {ID: 5, NAPI: 102}}, []int{1, 5}},
		{[]nic.Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 103}, {ID: 5, NAPI: 102}}, []int{5}},
	} {
		n.keep(index, x.all)
		if ids := n.queues(index, 102); !slices.Equal(ids, x.want) {
			t.Errorf("%+v: queues %v, not %v", x.all, ids, x.want)
		}
	}
	if n.link(index, 2) || n.link(index+1, 5) || !n.link(index, 1) {
		t.Error("queues were linked with instances that they never had, or not with theirs")
	}
}

// By which queue a packet came is told by its NAPI instance, as far as drivers link their queues
// with those: one that does not link them, and queues that share one, are no evidence of another
// queue.
func TestPlaces(t *testing.T) {
	const io = nic.ProviderIOUring
	linked := []nic.Queue{{ID: 0, NAPI: 201}, {ID: 1, NAPI: 202, Provider: io}}
	bare := []nic.Queue{{ID: 0}, {ID: 1, Provider: io}}
	shared := []nic.Queue{{ID: 0, NAPI: 301}, {ID: 1, NAPI: 302, Provider: io}, {ID: 2, NAPI: 301}, {ID: 3, NAPI: 302}}
	half := []nic.Queue{{ID: 0, NAPI: 401}, {ID: 1, Provider: io}}
	for name, x := range map[string]struct {
		queues       []nic.Queue
		napi         uint32
		place        string // "": not told
		serves, told bool
	}{
		"its own":                        {linked, 202, "queue 1", true, true},
		"another's":                      {linked, 201, "queue 0", false, true},
		"of another interface":           {linked, 900, "interface eth1", false, true},
		"of nobody":                      {linked, 999, "", false, false},
		"none":                           {linked, 0, "", false, false},
		"queues without":                 {bare, 800, "", false, false}, // the interface has it
		"none of queues without":         {bare, 0, "", false, false},
		"another interface, though":      {bare, 900, "interface eth1", false, true},
		"shared with another":            {shared, 302, "one of queues 1, 3", false, false},
		"shared by others":               {shared, 301, "one of queues 0, 2", false, true},
		"another's, its own not linked":  {half, 401, "", false, false},
		"a number that no one has known": {half, 402, "", false, false},
	} {
		seen.served = nil
		fake := kernel{queues: x.queues, napis: []napi{{800, faked}, {900, 1}}}
		fake.replay(t, func(d *nic.Device) {
			q := &Queue{Dev: d, Queue: x.queues[1]}
			for range 2 { // the second time it is a known number, or a known stranger's
				p, ok := q.place(x.napi)
				if ok != (x.place != "") || ok && p.String() != x.place {
					t.Errorf("%s: %v, %v", name, p, ok)
				}
				if serves, told := q.Serves(x.napi); serves != x.serves || told != x.told {
					t.Errorf("%s: serves %v, told %v", name, serves, told)
				}
			}
		})
	}
	seen.served = nil
}
