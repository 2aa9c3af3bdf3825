// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestHandsOver is no test but a program that hands memory over.
func TestHandsOver(t *testing.T) { labtest.HandsOver(t) }

// Payload arrives without a copy in dmabufs of other makers, verified: of what another program has
// made, by its copies.
func TestLabMemory(t *testing.T) {
	labtest.Need(t)
	intoMemory(t, "udmabuf", "heap", labtest.Hands(t))
}

// TestVgemInLab does that with objects of a graphics driver's: mk/lane.sh has the command.
func TestVgemInLab(t *testing.T) {
	labtest.Need(t)
	intoMemory(t, labtest.Vgem(t))
}

func intoMemory(t *testing.T, areas ...string) {
	t.Helper()
	for _, area := range areas {
		t.Run(fmt.Sprintf("%.4s", area), func(t *testing.T) {
			before, bytes := labtest.DMABufs(t), 16<<20
			if !dmabuf.Runs(area) { // whose copies take their time
				bytes = long.Rounds(bytes, 1<<30)
			}
			mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: bytes,
				NIC: stream.NICQueue{Area: area}})
			labtest.AwaitDMABufs(t, before)
		})
	}
}
