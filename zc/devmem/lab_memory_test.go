// SPDX-License-Identifier: MIT

package devmem_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestHandsOver is no test but a program that hands memory over.
func TestHandsOver(t *testing.T) { labtest.HandsOver(t) }

// Payload of all memory arrives without a copy, verified, and is sent from it. What another program
// has made is compared by its copies.
func TestLabMemory(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		throughMemory(t, "udmabuf", "heap", labtest.Hands(t))
	}
}

// TestVgemInLab does that with objects of a graphics driver's: mk/lane.sh has the command.
func TestVgemInLab(t *testing.T) {
	labtest.Need(t)
	throughMemory(t, labtest.Vgem(t))
	diesWith(t, labtest.Vgem(t), 20)
}

// throughMemory receives into memory and sends from it; if asked for, a GiB each.
func throughMemory(t *testing.T, areas ...string) {
	t.Helper()
	for _, area := range areas {
		for _, touch := range []stream.Touch{stream.TouchVerify, stream.TouchNone} {
			t.Run(fmt.Sprintf("rx/%.4s/%s", area, touch), func(t *testing.T) {
				before := labtest.DMABufs(t)
				bytes := 16 << 20
				if touch == stream.TouchVerify && !dmabuf.Runs(area) { // whose copies take their time
					bytes = long.Rounds(bytes, 1<<30)
				}
				x := labtest.Transfer{Family: "ipv4", Bytes: bytes, Touch: touch, NIC: stream.NICQueue{Area: area}}
				o := mustBeZeroCopy(t, x)
				t.Logf("%d calls, %d bytes", o.Counters.Calls, o.Counters.Bytes)
				labtest.AwaitDMABufs(t, before)
			})
		}
		t.Run(fmt.Sprintf("tx/%.4s", area), func(t *testing.T) {
			before := labtest.DMABufs(t)
			o := mustArrive(t, labtest.Transfer{Family: "ipv6", Bytes: long.Rounds(16<<20, 1<<30),
				Open: labtest.Opener(baseline.NewTCPReceiver), ZeroCopy: true,
				TX: labtest.Sends(labtest.TXOpener(devmem.NewSender), area)})
			mustHaveSent(t, "devmem", o)
			labtest.AwaitDMABufs(t, before)
		})
	}
}

// A byte that is wrong in memory that the CPU does not map is found.
func TestLabMemorySpoilt(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, NIC: stream.NICQueue{Area: labtest.Hands(t)},
		TX: labtest.TXOpener(func(o stream.Options) (stream.Sender, error) {
			s, err := devmem.NewSender(o)
			if err == nil {
				s.Memory()[12345] ^= 1
			}
			return s, err
		}), ZeroCopy: true})
	if err != nil || o.Err != nil || o.Counters.Mismatches == 0 || o.Counters.FirstMismatch != 12346 {
		t.Errorf("%d wrong from %d on, %v, %v", o.Counters.Mismatches, o.Counters.FirstMismatch, err, o.Err)
	}
}

// memoryEnv is the area of the process that is to be killed.
const memoryEnv = "DEVMEM_TEST_AREA"

// TestKilledMemory is no test but the process that the tests below kill.
func TestKilledMemory(t *testing.T) {
	area := os.Getenv(memoryEnv)
	if area == "" {
		t.Skip("it is started by others")
	}
	x := labtest.Transfer{Family: "ipv4", Bytes: 8 << 30, Touch: stream.TouchNone, NIC: stream.NICQueue{Area: area},
		Open: open, TX: labtest.Sends(labtest.TXOpener(devmem.NewSender), area), ZeroCopy: true,
		Begun: func(stream.Receiver) { fmt.Println("flowing") }}
	_, err := labtest.In(labtest.RXNS, x.Receive)
	t.Errorf("it was not killed: %v", err)
}

// kill -9 in the middle of a flow leaves no binding, no buffer, and no program that made it.
func TestLabKilledMemory(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	diesWith(t, "heap", long.Rounds(2, 20))
	diesWith(t, labtest.Hands(t), long.Rounds(1, 20))
}

func diesWith(t *testing.T, area string, times int) {
	t.Helper()
	before := labtest.DMABufs(t)
	t.Setenv(memoryEnv, area)
	labtest.Killed(t, "TestKilledMemory", "DEVMEM_TEST_KILLS", times,
		labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, Open: open})
	labtest.AwaitDMABufs(t, before)
}
