// SPDX-License-Identifier: MIT

package agent

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/covered"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
)

// What an agent says of its CPUs is true in a container, too.
func TestIdentityInAContainer(t *testing.T) {
	online, err := counter.OnlineCPUs(counter.FS{})
	allowed, err2 := place.AllowedCPUs()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	const file = "/sys/devices/system/cpu/online"
	covered.Run(t, map[string]string{file: "4000\n"}, func() {
		h, err := identity()
		if err != nil || h.Check() != nil {
			t.Errorf("%v, %v", err, h.Check())
		}
		if !slices.Equal(h.OnlineCPUs, online) || !slices.Equal(h.PinCPUs, allowed.Pin) ||
			!slices.Equal(h.NotKernels, []string{file}) || h.Env.CPUs != len(online) {
			t.Errorf("online %v, to bind to %v, not the kernel's %q, %d CPUs", h.OnlineCPUs, h.PinCPUs, h.NotKernels,
				h.Env.CPUs)
		}
	})
}
