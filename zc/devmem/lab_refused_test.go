// SPDX-License-Identifier: MIT

package devmem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
	"golang.org/x/sys/unix"
)

// Rules are switched on before the queue has its memory, not after.
func TestLabImitatedRulesOff(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) == "virtio_net" {
		t.Log("it has none")
		return
	}
	mustBeZeroCopy(t, labtest.RulesOff(t, labtest.Transfer{Family: "ipv4", Bytes: 2 << 20, Open: labtest.Opener(devmem.New)}))
}

// A driver that does not restart its queues as things stand is not one without queue
// operations: what is in the way is named.
func TestLabImitatedNotRestarted(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) != "mlx5_core" {
		t.Log("mlx5 alone")
		return
	}
	labtest.PrivateFlag(t, "tx_port_ts", func() {
		_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, Setup: labtest.HWGRO(t, true)})
		if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "tx_port_ts") || !strings.Contains(fault.Fix(err), "tx_port_ts off") {
			t.Errorf("%v\nfix: %s", err, fault.Fix(err))
		}
	})
}
