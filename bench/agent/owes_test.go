// SPDX-License-Identifier: MIT

package agent

import (
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/ssh"
)

// A hello does not wait for a look at what the dead left, which may take longer than a
// controller waits for one: it is asked for by itself.
func TestHelloLooksAtNoJournals(t *testing.T) {
	defer func(old func(lease.FinishOptions) ([]lease.Report, error)) { finish = old }(finish)
	looked := 0
	finish = func(lease.FinishOptions) ([]lease.Report, error) { looked++; return nil, nil }
	t.Setenv(ssh.Env, "192.0.2.1 50000 192.0.2.2 22")
	c := serve(t)
	c.ok(wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: version.Tool(), SSH: true}, nil)
	if looked > 0 {
		t.Error("a hello looks at the journals of the dead")
	}
	var owed wire.Owed
	if c.ok(wire.OpOwed, nil, &owed); owed.SSH || looked != 1 {
		t.Errorf("%+v after %d looks", owed, looked)
	}
}

// What is left of the dead is told beforehand where ssh comes by its interface, and nothing
// is done for that.
func TestOwesSSH(t *testing.T) {
	defer func(old func(lease.FinishOptions) ([]lease.Report, error)) { finish = old }(finish)
	inHost(t, func(dev, _ string) error {
		left := func(s ...lease.StepReport) []lease.Report { return []lease.Report{{State: lease.Owing, Steps: s}} }
		for name, x := range map[string]struct {
			hello wire.Hello
			left  []lease.Report
			want  bool
		}{
			"ssh's interface": {wire.Hello{SSH: true},
				left(lease.StepReport{Dev: dev, Setting: "mtu", Result: lease.Would}), true},
			"shared": {wire.Hello{SSH: true, SharedWithSSH: true},
				left(lease.StepReport{Dev: dev, Setting: "mtu", Result: lease.Would}), true},
			"not to be done": {wire.Hello{SSH: true},
				left(lease.StepReport{Dev: dev, Setting: "mtu", Result: lease.Changed}), false},
			"another": {wire.Hello{SSH: true},
				left(lease.StepReport{Dev: "lo", Setting: "mtu", Result: lease.Would}), false},
			"one that is gone": {wire.Hello{SSH: true},
				left(lease.StepReport{Dev: "none0", Setting: "mtu", Result: lease.Would}), false},
			"of the host": {wire.Hello{SSH: true},
				left(lease.StepReport{Setting: "sysctl net.ipv4.tcp_sack", Result: lease.Would}), false},
			"nothing": {wire.Hello{SSH: true}, nil, false},
			"not by ssh": {wire.Hello{}, left(lease.StepReport{Dev: dev, Setting: "mtu", Result: lease.Would}),
				false},
		} {
			finish = func(o lease.FinishOptions) ([]lease.Report, error) {
				if !o.DryRun || o.All || o.Force || o.Adopt {
					t.Errorf("%s: %+v", name, o)
				}
				return x.left, nil
			}
			a := &agent{}
			x.hello.Version, x.hello.ToolVersion = wire.Version, version.Tool()
			a.learn(x.hello)
			if got := a.owesSSH(); got != x.want {
				t.Errorf("%s: %v", name, got)
			}
		}
		return nil
	})
}
