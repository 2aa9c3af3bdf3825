// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabRunFlowsOfTokens runs several flows at the same time.
func TestLabRunFlowsOfTokens(t *testing.T) {
	long.Test(t) // those of zcrx, and TestLabFlows and TestLabGroup, are in the short run
	labtest.RunFlows(t, devmem.Mode)
}

// TestLabSendFlows sends several flows at the same time from dmabufs, to where they are copied and
// to where they are not.
func TestLabSendFlows(t *testing.T) {
	long.Test(t) // one flow, TestLabSend, is in the short run
	for _, rx := range []string{"tcp", zcrx.Mode} {
		t.Run(rx, func(t *testing.T) { labtest.SentFlows(t, rx, devmem.Mode) })
	}
}
