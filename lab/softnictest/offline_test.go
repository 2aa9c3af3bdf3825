// SPDX-License-Identifier: MIT

package softnictest

import (
	"os"
	"testing"
)

// Interrupts for a CPU that is offline come to another one: no queue waits for what never comes.
func TestInterruptsOfOfflineCPU(t *testing.T) {
	needLab(t)
	const online = "/sys/devices/system/cpu/cpu1/online"
	if _, err := os.Stat(online); err != nil {
		t.Skipf("the guest has one CPU: %v", err)
	}
	set := func(s string) {
		if err := os.WriteFile(online, []byte(s), 0); err != nil {
			t.Fatal(err)
		}
	}
	param(t, "irq_cpus", "1,1,1,1,1,1,1,1")
	param(t, "inline_dma", "0")
	set("0")
	t.Cleanup(func() { set("1") })
	for _, f := range []family{v4, v6} {
		transfer(t, listen(t, f, 5070), 1<<20)
	}
}
