// SPDX-License-Identifier: MIT

package kselftests

import (
	"reflect"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, output string
		end          End
		want         []Case
	}{
		{"all kinds", `# Interface: sn0, driver: softnic
TAP version 13
1..5
ok 1 hds.get
# Check| At /kernel/hds.py, line 1, in set:
# Check failed 1 != 2 of the ring
# Check failed 3 != 4
not ok 2 hds.set.of 3 rings
ok 3 hds.xdp # SKIP no XDP: Command failed
CMD: ip link
  EXIT: 2
ok 4 hds.odd # XFAIL could not build a backlog
# Exception| Traceback (most recent call last):
# Exception|   File "/kernel/ksft.py", line 420, in ksft_run
# Exception|     func(*args)
# Exception| net.ynl.pyynl.lib.ynl.NlError: Netlink error: too low: Invalid argument
# Exception|   EXIT: 1
# Exception| 
not ok 5 hds.ring
# Totals: pass:1 fail:2 xfail:1 xpass:0 skip:1 error:0
`, End{Exit: 1}, []Case{
			{"get", pass, ""},
			{"set.of 3 rings", fail, "Check failed 1 != 2 of the ring"},
			{"xdp", skip, "no XDP: Command failed"},
			{"odd", xFail, "could not build a backlog"},
			{"ring", fail, "net.ynl.pyynl.lib.ynl.NlError: Netlink error: too low: Invalid argument"},
		}},
		{"time over", "1..3\nok 1 hds.get\n", End{Exit: 124, Limit: time.Minute}, []Case{
			{"get", pass, ""}, {whole, fail, "not done after 1m0s: 1 of 3 cases"}}},
		{"died", "TAP version 13\n1..3\nok 1 hds.get\nKilled\n", End{Exit: 137}, []Case{
			{"get", pass, ""}, {whole, fail, "exit status 137 after 1 of 3 cases: Killed"}}},
		{"no KTAP", "Traceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'\n", End{Exit: 1},
			[]Case{
				{whole, fail, "exit status 1 after 0 of 0 cases: ModuleNotFoundError: No module named 'yaml'"}}},
		{"nothing", "", End{}, []Case{{whole, fail, "exit status 0 after 0 of 0 cases: "}}},
		{"skips as a whole", "# SKIP needs two ports\n", End{Exit: 4}, []Case{{whole, skip, "SKIP needs two ports"}}},
		{"kernel", "1..1\nok 1 hds.get\n", End{Kernel: "WARNING: net/core/dev.c"}, []Case{
			{"get", pass, ""}, {kernel, fail, "WARNING: net/core/dev.c"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Read("hw/hds.py", tc.output, tc.end); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
