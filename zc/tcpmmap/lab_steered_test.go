// SPDX-License-Identifier: MIT

package tcpmmap_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
)

// What copies can have the NIC of the modes that do not.
func TestLabSteered(t *testing.T) { labtest.Steered(t, "tcp") }
