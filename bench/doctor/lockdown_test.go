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
		{"none [integrity] confidentiality\n", "ok", "zcbench works"},
		{"none integrity [confidentiality]\n", "warn", "do not load"},
		{"none integrity\n", "ok", "unknown"},
		{"none [", "ok", "unknown"},
	} {
		c := fixture(t, map[string]string{"sys/kernel/security/lockdown": x.file}).lockdown()
		if c.Status != x.status || !strings.Contains(c.Found, x.found) {
			t.Errorf("%q: %+v", x.file, c)
		}
		complete(t, []wire.Check{c})
	}
	if c := fixture(t, nil).lockdown(); c.Status != "ok" || !strings.Contains(c.Found, "unknown") {
		t.Errorf("%+v", c)
	}
}
