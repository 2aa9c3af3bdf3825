// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Open opens the receiver of a mode that takes a queue over.
type Open func(stream.Options) (stream.Receiver, error)

// RulesOffAtFirst sees that rules are switched on before the queue has its memory, not
// after. check makes the transfer and sees that it was without a copy.
func RulesOffAtFirst(t *testing.T, open Open, check func(Transfer)) {
	t.Helper()
	Need(t)
	if CannotTake(t) {
		t.Log("it takes no queue over, or has no rules")
		return
	}
	check(rulesOff(t, Transfer{Family: "ipv4", Bytes: 2 << 20, Open: open}))
}

// NotRestarted sees that a driver which does not restart its queues as things stand is not
// taken for one without queue operations, nor for one that takes no long buffers: what is in
// the way is named. Each queue is tried in turn.
func NotRestarted(t *testing.T, open Open, queues ...stream.NICQueue) {
	t.Helper()
	Need(t)
	if Model(t) != "mlx5_core" {
		t.Log("mlx5 alone")
		return
	}
	privateFlag(t, "tx_port_ts", func() {
		for _, q := range queues {
			_, err := Transfer{Family: "ipv4", Bytes: 1 << 20, NIC: q, Setup: HWGRO(t, true), Open: open}.Run(t)
			MustSay(t, err, unix.EOPNOTSUPP, "tx_port_ts", "ethtool --set-priv-flags "+RXDev+" tx_port_ts off")
		}
	})
}

// MustSay checks a refusal: its errno, its words and its fix.
func MustSay(t *testing.T, err error, errno error, why, fix string) {
	t.Helper()
	var u *fault.Unsupported
	if !errors.As(err, &u) || errno != nil && !errors.Is(err, errno) || !strings.Contains(err.Error(), why) ||
		!strings.Contains(fault.Fix(err), fix) {
		t.Errorf("%v\nfix: %s\nwant %v, %q and %q", err, fault.Fix(err), errno, why, fix)
	}
}
