// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

func TestLockdown(t *testing.T) {
	for _, x := range []struct{ file, status, found string }{
		{"[none] integrity confidentiality\n", "ok", "none"},
		{"none [integrity] confidentiality\n", "ok", "nothing of zcbench is refused"},
		{"none integrity [confidentiality]\n", "warn", "do not load"},
		{"none integrity\n", "ok", "not told"},
		{"none [", "ok", "not told"},
	} {
		c := fixture(t, map[string]string{"sys/kernel/security/lockdown": x.file}).lockdown()
		if c.Status != x.status || !strings.Contains(c.Found, x.found) {
			t.Errorf("%q: %+v", x.file, c)
		}
		complete(t, []wire.Check{c})
	}
	if c := fixture(t, nil).lockdown(); c.Status != "ok" || !strings.Contains(c.Found, "not told") {
		t.Errorf("%+v", c)
	}
}
