// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Zero copy survives encryption, as far as the CPU has to read each byte once.
func TestLabEncrypted(t *testing.T) { labtest.Encrypted(t, zcrx.Mode) }
