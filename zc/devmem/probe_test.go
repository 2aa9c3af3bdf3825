// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
)

// Each probe is either a yes, or says what is missing and what to do.
func TestProbes(t *testing.T) {
	for name, err := range map[string]error{"receive": Probe(), "send": probeSend(), "lo": ProbeDevice("lo"),
		"nothing":    ProbeDevice("no-such-if"),
		"send by lo": ProbeSendDevice("lo"), "send by nothing": ProbeSendDevice("no-such-if")} {
		var u *fault.Unsupported
		if err == nil {
			if name != "receive" && name != "send" {
				t.Errorf("%s: supported", name)
			}
			continue
		}
		if !errors.As(err, &u) || u.Fix() == "" || u.Op == "" {
			t.Errorf("%s: %v; fix: %s", name, err, fault.Fix(err))
		}
		t.Logf("%s: %v; fix: %s", name, err, fault.Fix(err))
	}
}

// What cannot be had leaves nothing behind and names the failing step.
func TestNewRefused(t *testing.T) {
	for _, dev := range []string{"lo", "no-such-if"} {
		opt := stream.Options{MessageBytes: 1 << 20, Touch: stream.TouchNone, NIC: stream.NICQueue{Dev: dev}}
		r, rerr := New(opt)
		s, serr := NewSender(opt)
		if rerr == nil {
			t.Errorf("%s: made a receiver: %v", dev, r.Close())
		}
		if serr == nil {
			t.Errorf("%s: made a sender: %v", dev, s.Close())
		}
		for _, err := range []error{rerr, serr} {
			if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || fault.Fix(err) == "" {
				t.Errorf("%s: %v", dev, err)
			}
		}
	}
}
