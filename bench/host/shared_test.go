// SPDX-License-Identifier: MIT

package host

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
)

// A host whose ssh shares the flow's interface is waited for: its link may be away for as
// long as a switch takes. Everywhere else nothing changes.
func TestSharedLimits(t *testing.T) {
	for _, x := range []struct {
		far, shared bool
		set         Limits
		silence     time.Duration
		alive       string
	}{
		{false, false, Limits{}, 10 * time.Second, ""},
		{false, true, Limits{}, 10 * time.Second, ""},
		{true, false, Limits{}, 6 * time.Second, "ServerAliveInterval=2 -o ServerAliveCountMax=3"},
		{true, true, Limits{}, time.Minute, "ServerAliveInterval=2 -o ServerAliveCountMax=30"},
		{true, true, Limits{Silence: time.Second}, time.Second, ""},
	} {
		l := x.set.orUsual(x.far, x.shared)
		if l.of(wire.OpOwed) != l.of(wire.OpFinish) || l.of(wire.OpOwed) < 2*time.Minute {
			t.Errorf("a look at what is to be restored may take %v, and restoring it %v", l.of(wire.OpOwed),
				l.of(wire.OpFinish))
		}
		if l.Silence != x.silence {
			t.Errorf("far %v, shared %v: silence of %v, want %v", x.far, x.shared, l.Silence, x.silence)
		}
		if patient := x.far && x.shared; patient && (l.Abort < time.Minute || l.End < time.Minute ||
			l.Greet < time.Minute) || !patient && (l.Abort != 5*time.Second || l.End != endTime) {
			t.Errorf("far %v, shared %v: %+v", x.far, x.shared, l)
		}
		if x.alive == "" {
			continue
		}
		t.Setenv(sshEnv, "true")
		cmd, err := sshCommand(Spec{Kind: "ssh", Dest: "box", Patient: x.shared}, "exit")
		if err != nil || !strings.Contains(strings.Join(cmd.Args, " "), x.alive) {
			t.Errorf("%v, %v; want %s", cmd, err, x.alive)
		}
	}
}
