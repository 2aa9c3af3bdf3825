package zcrx

import "testing"

func TestHeld(t *testing.T) {
	h := new(held)
	bytes := 0
	pushed, popped := uint64(0), uint64(0)
	for round := range 3 * maxHeld { // runs around
		h.push(pushed, uint32(pushed%100))
		bytes += int(pushed % 100)
		pushed++
		if h.full() || round%3 == 0 {
			p := h.oldest()
			if p.off != popped || p.len != uint32(popped%100) {
				t.Fatalf("oldest %+v, want %d", p, popped)
			}
			h.pop()
			bytes -= int(p.len)
			popped++
		}
		if h.bytes != bytes || h.count() != int(pushed-popped) {
			t.Fatalf("%d bytes in %d pieces, want %d in %d", h.bytes, h.count(), bytes, pushed-popped)
		}
	}
}
