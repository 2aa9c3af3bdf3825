// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
)

// A kernel without kTLS is told of with what to do, and was not made to load it; PSP is never said
// to be measured.
func TestEncryptionChecks(t *testing.T) {
	before := records.Loaded()
	all := encryptionChecks()
	if len(all) != 2 || records.Loaded() != before || (all[0].Status == "ok") != before {
		t.Errorf("%+v, loaded before: %v", all, before)
	}
	if c := kTLS(true); c.Status != "ok" || c.Fix != "" {
		t.Errorf("%+v", c)
	}
	if c := kTLS(false); c.Status != "lacking" || c.Command != "modprobe tls" ||
		!strings.Contains(c.Fix, "--tls user") {
		t.Errorf("%+v", c)
	}
	for _, err := range []error{nil, errors.New("no family")} {
		c := psp(err)
		if (c.Status == "ok") != (err == nil) || !strings.Contains(c.Needed, "does not measure it") {
			t.Errorf("%+v", c)
		}
	}
}
