// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabTurns lets zcrx and devmem, each with its own queue, take turns with tcp.
func TestLabTurns(t *testing.T) { labtest.TakeTurns(t, "tcp", zcrx.Mode, "devmem") }
