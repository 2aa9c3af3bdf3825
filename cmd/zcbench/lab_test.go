// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/cli"
)

// A name alone hands on what is set here.
func TestFillEnv(t *testing.T) {
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "s3cret=")
	env := []string{"A=1", "ZCBENCH_SNMP_COMMUNITY", "B="}
	if err := fillEnv(env); err != nil || !slices.Equal(env, []string{"A=1", "ZCBENCH_SNMP_COMMUNITY=s3cret=", "B="}) {
		t.Errorf("%q, %v", env, err)
	}
	for _, bad := range []string{"", "=x", "ZCBENCH_THERE_IS_NONE"} {
		var se *cli.StatusError
		if err := fillEnv([]string{bad}); !errors.As(err, &se) || se.Status != 2 {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
