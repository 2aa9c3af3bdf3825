// SPDX-License-Identifier: MIT

package lease

import "testing"

func TestRulesFixed(t *testing.T) {
	const want = "turn on ntuple rules of eth0: they are off, and its driver does not let them be turned on: " +
		"operation not supported (EOPNOTSUPP)"
	if got := rulesFixed("eth0").Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
