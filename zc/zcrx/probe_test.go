// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// Each probe is either a yes, or says what is missing and what to do.
func TestProbes(t *testing.T) {
	for name, err := range map[string]error{"zcrx": probe(), "zcrx-nodev": ProbeNoDevice(), "lo": ProbeDevice("lo"),
		"nothing": ProbeDevice("no-such-if")} {
		var u *fault.Unsupported
		if err == nil {
			if name == "lo" || name == "nothing" {
				t.Errorf("%s: supported", name)
			}
			continue
		}
		if !errors.As(err, &u) || u.Fix() == "" || u.Op == "" {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v; fix: %s", name, err, fault.Fix(err))
	}
}

// A receiver that cannot be had leaves nothing behind and names the failing step.
func TestNewRefused(t *testing.T) {
	for _, dev := range []string{"lo", "no-such-if"} {
		r, err := New(stream.Options{MessageBytes: 1 << 20, Touch: stream.TouchNone, NIC: stream.NICQueue{Dev: dev}})
		var u *fault.Unsupported
		if err == nil {
			t.Errorf("%s: made one: %v", dev, r.Close())
		} else if !errors.As(err, &u) || fault.Fix(err) == "" {
			t.Errorf("%s: %v", dev, err)
		}
	}
}

func TestProof(t *testing.T) {
	for name, c := range map[string]struct {
		p            proof
		counter      []uint64 // after each taking of 100 bytes
		zero, copied uint64
	}{
		"no NIC, counted": {proof{counts: true, copiesAll: true}, []uint64{60, 160, 260}, 0, 260},
		"none":            {proof{counts: true}, []uint64{0, 0, 0}, 300, 0},
		"all":             {proof{counts: true}, []uint64{100, 200, 300}, 0, 300},
		"ahead":           {proof{counts: true}, []uint64{150, 150, 150}, 150, 150},
		"late":            {proof{counts: true}, []uint64{0, 0, 40}, 260, 40},
		"no NIC":          {proof{copiesAll: true}, []uint64{0, 0, 0}, 0, 300},
		"unseen":          {proof{}, []uint64{0, 0, 0}, 300, 0},
		"strayed":         {proof{elsewhere: true}, []uint64{0, 0, 0}, 0, 300},
	} {
		var m stream.Meter
		p := c.p
		for _, n := range c.counter {
			p.account(100, n, &m)
		}
		if s := m.Snapshot(); s.ZeroCopyBytes != c.zero || s.CopiedBytes != c.copied || p.taken != 300 {
			t.Errorf("%s: %d and %d, want %d and %d", name, s.ZeroCopyBytes, s.CopiedBytes, c.zero, c.copied)
		}
		if s := m.Snapshot(); c.p.copiesAll && s.CopiedBytes+s.LinearBytes != 300 {
			t.Errorf("%s: %d copied and %d linear of 300", name, s.CopiedBytes, s.LinearBytes)
		}
		if p.copying() != (c.copied > 0) {
			t.Errorf("%s: copying %v", name, p.copying())
		}
	}
}

func TestUnseen(t *testing.T) {
	for _, c := range []struct{ taken, copied, buffers, want uint64 }{
		{taken: 8192, buffers: 2},
		{taken: 8193, buffers: 2, want: 1},
		{taken: 8193, copied: 1, buffers: 2},
		{taken: 100, copied: 100},
		{taken: 100, want: 100},
		{},
	} {
		p := proof{taken: c.taken, copied: c.copied}
		if got := p.unseen(c.buffers, 4096); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// The error of a step keeps its errno for errors.Is.
func TestUnsupportedUnwraps(t *testing.T) {
	err := ProbeDevice("no-such-if")
	if probe() == nil && !errors.Is(err, unix.ENODEV) {
		t.Errorf("%v", err)
	}
}
