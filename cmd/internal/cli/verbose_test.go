// SPDX-License-Identifier: MIT

package cli

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

func TestDataPath(t *testing.T) {
	var b strings.Builder
	DataPath(&b, "SUT", []measure.Metric{
		{Name: "devmem_frags", Unit: "1", Value: 1e9, Source: "data path, whole flow"},
		{Name: "cpu_busy", Unit: "cores", Value: 1, Source: "/proc/stat"},
		{Name: "flow_calls_per_mb", Unit: "1/MB", Value: 12.3456, Source: "data path"},
	})
	const want = "  SUT  devmem_frags                         1000000000\n" +
		"  SUT  flow_calls_per_mb                        12.346 1/MB\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
