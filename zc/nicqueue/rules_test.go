// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// More flows than the table of rules has room for are refused, with how many it has.
func TestRoomForRules(t *testing.T) {
	for _, x := range []struct {
		flows, room int
		refused     bool
	}{{1, 1, false}, {16, 1024, false}, {17, 16, true}, {1, 0, true}} {
		err := fits("zcrx", "eth0", x.flows, x.room)
		if (err != nil) != x.refused {
			t.Errorf("%d flows, room for %d: %v", x.flows, x.room, err)
		}
	}
	err := fits("tcp", "eth0", 17, 16)
	if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || !errors.Is(err, unix.ENOSPC) ||
		!strings.Contains(err.Error(),
			"steer 17 flows of eth0, each by an ntuple rule: its table has room for only 16 more") ||
		!strings.Contains(u.How, "ethtool -n eth0") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	if err := RoomForRules("zcrx", "no-such-if", 2); !strings.Contains(err.Error(), "find interface no-such-if") {
		t.Error(err)
	}
}

// A driver without rules is refused with the reason, and without a promise of RSS contexts.
func TestNoRules(t *testing.T) {
	err := RoomForRules("zcrx", "lo", 2) // it has none, nor anything else
	if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "steer flows of lo by 2 ntuple rules") ||
		!strings.Contains(fault.Fix(err),
			"the driver has no ntuple rules: use a NIC whose driver steers flows by ntuple rules") ||
		!strings.Contains(fault.Fix(err), "; RSS contexts do not help, since a flow enters one by a rule") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}
