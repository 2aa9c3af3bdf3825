// SPDX-License-Identifier: MIT

package perftest

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// Root in a machine of its own may sample: a refusal there is no reason to skip.
func TestForbidden(t *testing.T) {
	for _, x := range []struct{ name, lockdown, caps, seccomp, want string }{
		{"root", "[none] integrity confidentiality\n", "000001ffffffffff", "0", ""},
		{"no lockdown in the kernel", "", "000001ffffffffff", "0", ""},
		{"with CAP_PERFMON alone", "[none] integrity confidentiality\n", "0000004000000000", "0", ""},
		{"locked down a little", "none [integrity] confidentiality\n", "000001ffffffffff", "0", ""},
		{"locked down", "none integrity [confidentiality]\n", "000001ffffffffff", "0", "locked down"},
		{"nobody", "", "0000000000000000", "0", "CAP_PERFMON"},
		{"a container", "", "000001ffffffffff", "2", "filter"},
	} {
		got := forbidden([]byte(x.lockdown), []byte("Name:\tgo\nCapPrm:\t0000000000000000\nCapEff:\t"+x.caps+
			"\nSeccomp:\t"+x.seccomp+"\nSeccomp_filters:\t2\n"))
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
