// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabGathers(t *testing.T) {
	long.Test(t)
	labtest.Gathers(t, devmem.Mode)
}
