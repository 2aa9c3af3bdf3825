// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// The plan says which settings reset all queues of this driver, and warns once of rules that are
// not ours.
func TestResets(t *testing.T) {
	e := experiment(t, `
name: resets
sut: {host: "ssh:root@sut", dev: eth0, settings: {rx_ring: 4096}}
tg: {host: "ssh:tg", dev: eth1}
factors: {rx: [tcp, tcp-trunc], tx: tcp, gro: [true, false]}
`)
	preview := func(driver string, rules int) preview {
		f := port{dev: "eth0", driver: driver, rules: rules}
		return preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }, found: [2]port{f}}
	}
	var b bytes.Buffer
	preview("idpf", 0).settings(&b)
	for line, want := range map[string]bool{"eth0: ring rx = 4096   (a change resets all queues)\n": true,
		"rx-gro = off | on   (a": false, "rx-gro = on | off   (a": false} {
		if strings.Contains(b.String(), line) != want {
			t.Errorf("%q: %v:\n%s", line, !want, b.String())
		}
	}
	b.Reset()
	if preview("", 0).settings(&b); strings.Contains(b.String(), "resets") {
		t.Errorf("of no driver: %s", b.String())
	}
	for name, x := range map[string]struct {
		driver string
		rules  int
		want   string
	}{
		"idpf": {"idpf", 2, "warning: SUT: eth0 has 2 ntuple rules of others: these settings reset all " +
			"queues (ring rx), and idpf then lists the rules but no longer applies them: note them first " +
			"(ethtool -n eth0, "},
		"the lab": {"softnic(idpf)", 1,
			"warning: SUT: eth0 has an ntuple rule of others: these settings reset all queues (ring rx), and"},
		"no rules": {"idpf", 0, ""},
		"ice":      {"ice", 2, ""}, // which holds channels only
		"unknown":  {"nobody-knows", 2, "the driver (nobody-knows) may no longer apply the rules then"},
		"mlx5":     {"mlx5_core", 2, ""},
	} {
		var said []string
		preview(x.driver, x.rules).foretellResets(func(line string) { said = append(said, line) })
		if got := strings.Join(said, "\n"); !strings.Contains(got, x.want) || (x.want == "") != (got == "") ||
			len(said) > 1 {
			t.Errorf("%s: %q", name, said)
		}
	}
	if got := (port{dev: "eth0", driver: "ice", rules: 3}).foretell([]string{"eth0: channels",
		"eth0: ring rx"}); !strings.Contains(got,
		"eth0 has 3 ntuple rules of others, and ice changes no channels while there are any: note them first "+
			"(ethtool -n eth0, ") {
		t.Error(got)
	}
}
