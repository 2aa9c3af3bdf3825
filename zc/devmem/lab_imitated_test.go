// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// Payload comes without a copy through the control plane of every driver that the soft
// NIC imitates, and everything is as before afterwards.
func TestLabImitated(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	before := labtest.DeviceState(t)
	for _, family := range labtest.Families(t) {
		for range long.Rounds(1, 2) { // the next finds what the last has left
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 4 << 20, Setup: labtest.HWGRO(t, true)})
		}
	}
	labtest.AwaitFree(t, 3)
	labtest.NoIPv6Rules(t, open)
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
}

// The probe says that the driver can, also where it has nothing to say of a queue that
// is not there, and the queues do not notice.
func TestLabImitatedProbe(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.Undisturbed(t, devmem.ProbeProvider)
}

// incapable is of a driver that cannot: it says so.
func incapable(t *testing.T) bool {
	t.Helper()
	return labtest.Incapable(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, Open: open}, devmem.ProbeProvider,
		devmem.ProbeDevice)
}

// Buffers of half a page hold half as much each, and all of it comes without a copy.
func TestLabImitatedHalfPages(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) != "gve" || labtest.Older(t) {
		t.Skip("only gve lets the length of its buffers be chosen")
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, Setup: labtest.RXBufLen(t, 2048)})
}

// A driver need not link its queues with NAPI instances: that is no evidence of a copy.
func TestLabImitatedNoNAPI(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.NotLinked(t, devmem.Mode)
}

// Queues that share a NAPI instance cannot be told from each other by it: what else tells does.
func TestLabImitatedSharedNAPI(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.SharedNAPI(t, devmem.Mode)
}

// Packets that the NIC does not split are dropped where memory is of a provider, and counted.
func TestLabImitatedUnsplit(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	counter := "rx*_unsplit"
	if labtest.Model(t) == "idpf" {
		counter = "rx-hsplit_hbo"
	}
	labtest.NotSplit(t, devmem.Mode, counter)
}
