// SPDX-License-Identifier: MIT

package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
)

// A run says that a daemon manages its interface if it sets something there, and that other
// ports answer for it in any case.
func TestWarnAround(t *testing.T) {
	managed := wire.Check{Name: doctor.CheckManaged, Status: "warn", Found: "NetworkManager manages eth1", Fix: "nmcli"}
	flux := wire.Check{Name: doctor.CheckARP, Status: "warn", Found: "eth2 is in its network", Fix: "sysctl"}
	fine := wire.Check{Name: doctor.CheckARP, Status: "ok", Found: "no other port"}
	for _, x := range []struct {
		checks []wire.Check
		ofLink bool
		want   string
	}{
		{nil, true, ""},
		{[]wire.Check{managed, fine}, false, ""},
		{[]wire.Check{managed, fine}, true, "managed-link"},
		{[]wire.Check{managed, flux}, true, "managed-link arp-flux"},
		{[]wire.Check{managed, flux}, false, "arp-flux"},
	} {
		a := &agent{links: linkChecks{checks: x.checks}, leased: leased{ofLink: x.ofLink}}
		var res wire.EndResult
		a.warn(&res)
		if strings.Join(res.Flags, " ") != x.want || len(res.Warnings) != len(res.Flags) ||
			slices.ContainsFunc(res.Warnings, func(w string) bool { return !strings.Contains(w, "; fix: ") }) {
			t.Errorf("%+v, set %v: flags %q, warnings %q", x.checks, x.ofLink, res.Flags, res.Warnings)
		}
	}
}
