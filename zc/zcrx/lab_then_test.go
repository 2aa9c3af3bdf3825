// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// What zcrx receives goes on from where it lies, by SENDMSG_ZC.
func TestLabThen(t *testing.T) { labtest.Then(t, zcrx.Mode, "--touch", "verify") }

// Killed meanwhile, it leaves nothing.
func TestLabThenKilled(t *testing.T) { labtest.ThenKilled(t, zcrx.Mode) }
