// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// spoiler receives as tcp does, and passes payload on wrongly.
type spoiler struct {
	*baseline.TCPReceiver
	spoil func(p []byte) []byte
	on    *stream.Toucher
}

func (s *spoiler) Attach(c *stream.Conn, h stream.Hello) error {
	s.on = stream.NewToucher(stream.TouchNone, int(h.PeriodBytes))
	return s.TCPReceiver.Attach(c, h)
}

func (s *spoiler) PassOn(o *stream.Onward, m *stream.Meter) error {
	m.PassOn(o)
	return nil
}

func (s *spoiler) Receive(c *stream.Conn, m *stream.Meter) error {
	for b := make([]byte, 64<<10); ; {
		n, errno := sock.Recv(c.FD, b, 0)
		switch {
		case errno == 0 && n == 0:
			return c.Aborted()
		case errno == 0:
			s.on.Next(s.spoil(b[:n]), m)
			m.Bytes(n)
		}
	}
}

// filler receives as tcp does, and writes payload to its file wrongly.
type filler struct {
	*baseline.TCPReceiver
	spoil func(p []byte) []byte
	to    *stream.Onward
}

func (s *filler) PassOn(o *stream.Onward, _ *stream.Meter) error {
	s.to = o
	return nil
}

func (s *filler) Receive(c *stream.Conn, m *stream.Meter) error {
	for b := make([]byte, 64<<10); ; {
		n, errno := sock.Recv(c.FD, b, 0)
		switch {
		case errno == 0 && n == 0:
			return c.Aborted()
		case errno == 0:
			m.Bytes(n)
			for p := s.spoil(b[:n]); len(p) > 0; {
				k, err := s.to.File.Write(p, disk.Cached)
				if err != nil {
					return err
				}
				s.to.Wrote(k, disk.Cached)
				p = p[k:]
			}
		}
	}
}

// An end whose folder is not there is not opened: it says where that was to be, and what to do.
func TestNoFolder(t *testing.T) {
	s := rxSpec("tcp", 64<<10)
	s.Cell.Then = plan.ThenWrite(t.TempDir() + "/none")
	if _, err := Open(s); err == nil || !strings.Contains(err.Error(), "make a file without a name in "+
		s.Cell.WritesTo()) || !strings.Contains(fault.Fix(err), "mkdir") {
		t.Errorf("%v; fix %s", err, fault.Fix(err))
	}
}

// A byte that is wrong in the file, and one that never came there, make the run invalid.
func TestSpoiltFile(t *testing.T) {
	before := modes.All
	defer func() { modes.All = before }()
	bytes := 0
	for name, x := range map[string]struct {
		spoil   func(p []byte) []byte
		dir     string
		reason  string
		fix     string
		verdict results.Verdict
	}{
		"right": {func(p []byte) []byte { return p }, "/dev/shm", "", "", results.OK},
		"wrong": {func(p []byte) []byte {
			if bytes += len(p); bytes == len(p) {
				p[1000]++
			}
			return p
		}, t.TempDir(), "1 of ", "memory was given back", results.Invalid},
		"lost": {func(p []byte) []byte { return p[:len(p)-1] }, "/dev/shm", " were written", "report it",
			results.Invalid},
	} {
		m := baseline.TCP
		m.Name = "spoils"
		m.NewReceiver = func(o stream.Options) (stream.Receiver, error) {
			r, err := baseline.NewTCPReceiver(o)
			return &filler{TCPReceiver: r, spoil: x.spoil}, err
		}
		modes.All = append(before[:len(before):len(before)], m)
		rx, tx := rxSpec("spoils", 64<<10), txSpec("tcp", 64<<10)
		rx.Cell.Then = plan.ThenWrite(x.dir)
		r, _ := runBoth(t, rx, tx, some(1<<20), some(1<<20))
		if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.reason) || !strings.Contains(r.Fix, x.fix) {
			t.Errorf("%s: %s %q; fix %s", name, r.Verdict, r.Reason, r.Fix)
		}
		if name == "wrong" && !strings.HasSuffix(r.Reason, "the first is byte 1000 of the flow") {
			t.Errorf("%s: %s", name, r.Reason)
		}
	}
}

// A byte that an application passes on wrongly, and one that it loses, make the run invalid, and
// the TG says which it was. One that does neither is fine.
func TestSpoiltOnward(t *testing.T) {
	before := modes.All
	defer func() { modes.All = before }()
	for name, x := range map[string]struct {
		spoil   func(p []byte) []byte
		rx, tx  string
		verdict results.Verdict
	}{
		"right": {func(p []byte) []byte { return p }, "", "", results.OK},
		"wrong": {func(p []byte) []byte { p[len(p)/2]++; return p }, "of what was passed on are wrong",
			"what was passed on, as the TG receives it: ", results.Invalid},
		"lost": {func(p []byte) []byte { return p[:len(p)-1] }, " were passed on", "", results.Invalid},
	} {
		m := baseline.TCP
		m.Name = "spoils"
		m.NewReceiver = func(o stream.Options) (stream.Receiver, error) {
			r, err := baseline.NewTCPReceiver(o)
			return &spoiler{TCPReceiver: r, spoil: x.spoil}, err
		}
		modes.All = append(before[:len(before):len(before)], m)
		rx, tx := rxSpec("spoils", 64<<10), txSpec("tcp", 64<<10)
		rx.Cell.Then, tx.Cell.Then = plan.ThenForward, plan.ThenForward
		r, s := runBoth(t, rx, tx, some(1<<20), some(1<<20))
		if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.rx) || !strings.HasPrefix(s.Reason, x.tx) {
			t.Errorf("%s: SUT %s %q, TG %s %q", name, r.Verdict, r.Reason, s.Verdict, s.Reason)
		}
	}
}
