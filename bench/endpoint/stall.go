// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
)

// stallWatch notices a flow without progress.
type stallWatch struct {
	end   *End
	limit time.Duration
	seen  []progress // by the flows' numbers
}

// progress is how far a flow had come, and when it came so far.
type progress struct {
	bytes uint64
	since time.Time
}

func newStallWatch(e *End, limit time.Duration) *stallWatch {
	s := &stallWatch{end: e, limit: limit}
	for _, f := range e.flows {
		s.seen = append(s.seen, progress{f.Meter.Snapshot().Bytes, time.Now()})
	}
	return s
}

func (s *stallWatch) check() error {
	for i, f := range s.end.flows {
		p := &s.seen[i]
		if b := f.Meter.Snapshot().Bytes; b != p.bytes || f.over() {
			*p = progress{b, time.Now()}
		}
		if time.Since(p.since) > s.limit {
			return s.end.named(f, &fault.Error{Op: fmt.Sprintf("no payload for %v, after %d bytes", s.limit, p.bytes),
				How: "check the link and the other end; if it is still running, see its own message"})
		}
	}
	return nil
}
