// SPDX-License-Identifier: MIT

package stream

import "testing"

// A redirection is a word of the list, or names an interface that can be one.
func TestRedirect(t *testing.T) {
	for s, want := range map[string]struct {
		ok, to bool
		name   string
	}{
		"cpu": {true, false, ""}, "dev": {true, true, ""}, "xsk": {true, false, ""}, "dev:eth1": {true, true, "eth1"},
		"dev:a.b-c_1": {true, true, "a.b-c_1"},
		"dev:":        {false, true, ""}, "dev:..": {false, true, ".."}, "dev:a/b": {false, true, "a/b"},
		"dev:a b": {false, true, "a b"}, "dev:\x1b[2J": {false, true, "\x1b[2J"},
		"dev:0123456789abcdef": {false, true, "0123456789abcdef"}, "eth1": {false, false, ""}, "": {false, false, ""},
		"cpu:eth1": {false, false, ""},
	} {
		name, to := RedirectDev(s)
		if err := CheckRedirect(s); (err == nil) != want.ok || to != want.to || name != want.name {
			t.Errorf("%q: %q, %v, %v; want %+v", s, name, to, err, want)
		}
	}
}
