// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
)

// One entry of driver.All adds a driver: the doctor's rungs and cards, the NIC's questions and the
// tables of docs/nics.md go by it.
func TestOneLineAddsADriver(t *testing.T) {
	const name = "fastnic"
	if c := find(t, good(name), "zcrx", "driver"); driver.Of(name).Known() || c.Status != "warn" {
		t.Fatalf("before it is there: %+v", c)
	}
	before := driver.All
	defer func() { driver.All = before }()
	driver.All = append(before[:len(before):len(before)], &driver.Driver{Name: name, NIC: "Example Fast",
		Labs: []string{"fast"}, Memory: driver.Memory{Receives: "7.2", Buffers: "16 KiB"},
		Steering: driver.Steering{Rules: "TCP, since 7.1"}})

	if c := find(t, good(name), "zcrx", "driver"); c.Status != "ok" ||
		!strings.Contains(c.Needed, "netkit or fastnic") {
		t.Errorf("of a kernel that has it: %+v", c)
	}
	old := good(name)
	old.kernel = "7.1.0"
	if c := find(t, old, "zcrx", "driver"); c.Status != "lacking" || !strings.Contains(c.Fix, "7.2") {
		t.Errorf("of an older kernel: %+v", c)
	}
	var card Card
	if card.judge(name, driver.Kernel{Release: "7.2.0"}); !card.Known || !card.Takes || card.Since != "7.2" {
		t.Errorf("its card: %+v", card)
	}
	if got := old.driver.Ways().Receives; got != "7.2" {
		t.Errorf("an interface that it drives takes memory since %q", got)
	}
	if driver.Model("softnic(fast)") != name || driver.Imitated()[len(driver.Imitated())-1] != "fast" {
		t.Errorf("imitated are %q", driver.Imitated())
	}
	table, second, _ := tables()
	if !strings.Contains(table, "| `fastnic` (Example Fast) | 7.2 | no | 16 KiB |") ||
		!strings.Contains(second, "| `fastnic` | nothing | TCP, since 7.1 |") {
		t.Errorf("the tables of docs/nics.md do not have it:\n%s%s", table, second)
	}
}
