// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabImitatedRulesOff(t *testing.T) {
	labtest.RulesOffAtFirst(t, labtest.Opener(devmem.New), func(x labtest.Transfer) { mustBeZeroCopy(t, x) })
}

func TestLabImitatedNotRestarted(t *testing.T) {
	labtest.NotRestarted(t, open, stream.NICQueue{})
}
