// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"
)

// Whether --rx-buf-len can be had is a matter of mode, kernel and driver.
func TestLongBuffers(t *testing.T) {
	for _, x := range []struct {
		mode, driver      string
		kernel            bool
		status, found, fx string
	}{
		{"zcrx", "bnxt_en", true, "ok", "bnxt_en takes buffers of up to 32 KiB", ""},
		{"devmem", "mlx5_core", true, "ok", "mlx5_core takes buffers of up to 128 KiB", ""},
		{"devmem", "fbnic", true, "warn", "fbnic takes only buffers of one page", "leave out --rx-buf-len"},
		{"devmem", "new_nic", true, "ok", "the driver must, too", ""},
		{"devmem", "bnxt_en", false, "warn", "a page only", "use Linux 7.3 or later"},
		{"zcrx", "bnxt_en", false, "warn", "a page only", "use Linux 7.0 or later"},
	} {
		f := good(x.driver)
		f.bufLen[x.mode] = x.kernel
		if c := find(t, f, x.mode, "long buffers"); c.Status != x.status || !strings.Contains(c.Found, x.found) ||
			!strings.Contains(c.Fix, x.fx) {
			t.Errorf("%s on %s: %+v", x.mode, x.driver, c)
		}
	}
}
