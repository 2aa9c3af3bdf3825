// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// stallWatch notices a flow without progress.
type stallWatch struct {
	end   *End
	limit time.Duration
	began time.Time
	seen  []progress // by the flows' numbers

	unsplit unsplitWatches
}

// progress is how far a flow had come, and when it came so far.
type progress struct {
	bytes  uint64
	since  time.Time
	passed bool // what it sent was acknowledged in full size
}

func newStallWatch(e *End, limit time.Duration) *stallWatch {
	s := &stallWatch{end: e, limit: limit, began: time.Now(), unsplit: watchUnsplit(e)}
	for _, f := range e.flows {
		s.seen = append(s.seen, progress{bytes: f.Meter.Snapshot().Bytes, since: time.Now()})
	}
	return s
}

func (s *stallWatch) check() error {
	for i, f := range s.end.flows {
		p := &s.seen[i]
		if b := f.Meter.Snapshot().Bytes; b != p.bytes || f.over() {
			p.bytes, p.since = b, time.Now()
		}
		if time.Since(p.since) > s.limit {
			op, how := stood(s.limit, p), remedy.How(remedy.Progress, unix.ETIMEDOUT, s.on(f))
			if what, fix := s.unsplit.grown(); what != "" {
				op, how = op+"; "+what, fix+"; or "+how
			}
			return s.end.named(f, &fault.Error{Op: op, How: how})
		}
	}
	return s.small()
}

func stood(still time.Duration, p *progress) string {
	return fmt.Sprintf("no payload for %v, after %d bytes", still, p.bytes)
}

// because returns err, unless a receiver only knows that its sender broke off while a flow stood
// still, and its NIC did not split packets: then the cause is here. A sender may lose patience
// first.
func (s *stallWatch) because(err error) error {
	if s == nil || !stream.BlamesPeer(err) {
		return err
	}
	for i, f := range s.end.flows {
		p := &s.seen[i]
		still := time.Since(p.since)
		if still <= s.limit/2 || f.Meter.Snapshot().Bytes != p.bytes {
			continue
		}
		if what, fix := s.unsplit.grown(); what != "" {
			return s.end.named(f, &fault.Error{Op: stood(still.Round(time.Millisecond), p) + "; " + what, How: fix})
		}
	}
	return err
}

// small returns an error for a flow of which only small segments come through.
func (s *stallWatch) small() error {
	for i, f := range s.end.flows {
		p := &s.seen[i]
		if how := s.stuck(f, p); how != "" {
			return s.end.named(f, &fault.Error{Op: fmt.Sprintf("nothing of full size acknowledged for %v, of %d bytes",
				s.limit, p.bytes),
				How: how})
		}
	}
	return nil
}

// stuck suggests what to do about a sender's flow of which only small segments were acknowledged
// since it was opened, however much its socket took: a large buffer, or a slow pace, would hide
// that for longer than the receiver waits. "" where it moves, or that is not known.
func (s *stallWatch) stuck(f *flow, p *progress) (how string) {
	if p.passed || s.end.spec.Role != stream.TX || s.end.path.Kind != stream.Stream || f.Conn == nil || f.over() {
		return ""
	}
	t, err := unix.GetsockoptTCPInfo(f.Conn.FD, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || t.Bytes_acked > uint64(t.Snd_mss) {
		p.passed = true
		return ""
	}
	if time.Since(s.began) <= s.limit {
		return ""
	}
	return remedy.SmallOnly(s.on(f))
}

// unanswered suggests what to do about the first flow that goes on and of which nothing of full
// size was acknowledged; "" where there is none.
func (s *stallWatch) unanswered() (how string) {
	for _, f := range s.end.flows {
		if !f.over() && how == "" {
			how = remedy.SmallOnly(s.on(f))
		}
	}
	return how
}

// on gathers what is known of a flow.
func (s *stallWatch) on(f *flow) remedy.On {
	if f.Conn == nil || s.end.path.Kind != stream.Stream {
		return remedy.On{}
	}
	return remedy.On{Local: f.Conn.Local, Remote: f.Conn.Remote, FD: f.Conn.FD}
}
