// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
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
