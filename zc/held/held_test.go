// SPDX-License-Identifier: MIT

package held

import (
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestQueue(t *testing.T) {
	q := new(Queue)
	bytes := 0
	pushed, popped := uint64(0), uint64(0)
	for round := range 3 * Max { // runs around
		q.Push(pushed, uint32(pushed%100))
		bytes += int(pushed % 100)
		pushed++
		if q.Full() || round%3 == 0 {
			p := q.Oldest()
			if p.ID != popped || p.Len != uint32(popped%100) {
				t.Fatalf("oldest %+v, want %d", p, popped)
			}
			q.Pop()
			bytes -= int(p.Len)
			popped++
		}
		if q.Bytes() != bytes || q.Count() != int(pushed-popped) {
			t.Fatalf("%d bytes in %d pieces, want %d in %d", q.Bytes(), q.Count(), bytes, pushed-popped)
		}
	}
}
