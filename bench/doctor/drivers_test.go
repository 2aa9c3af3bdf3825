// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

var update = flag.Bool("update", false, "write the table of drivers into docs/nics.md")

// row is a driver's line of the table.
func (d driver) row(name string) string {
	yes := func(version string) string {
		if version == "" {
			return "no"
		}
		return version
	}
	receives := yes(d.receives)
	if d.onlyIf != "" {
		receives += ": " + d.onlyIf
	}
	buffers := "-"
	if d.receives != "" {
		buffers = cmp.Or(d.buffers, "a page")
	}
	irqs := "yes"
	switch {
	case d.virtual:
		irqs = "has none"
	case d.untold:
		irqs = "no"
	}
	return fmt.Sprintf("| `%s` (%s) | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, d.nic, receives, yes(d.sends), buffers,
		yes(d.split), cmp.Or(d.threshold, "none"), yes(d.hwGRO), irqs, cmp.Or(d.channels, "combined"))
}

// docs/nics.md has the table, and a section for each driver whose queues take memory.
func TestDriverDocs(t *testing.T) {
	const path, mark, end = "../../docs/nics.md", "<!-- drivers -->\n", "<!-- end -->"
	var want strings.Builder
	want.WriteString("| driver, Linux " + readIn + " | zcrx, devmem RX since | devmem TX since | receive buffers up to | header split | hds-thresh | rx-gro-hw | tells its interrupts | channels |\n" +
		strings.Repeat("|---", 9) + "|\n")
	order := func(a, b string) int { // those that can before those that cannot
		return cmp.Or(cmp.Compare(can(b), can(a)), cmp.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(drivers), order) {
		want.WriteString(drivers[name].row(name))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), mark)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of drivers", path)
	}
	if d := gocmp.Diff(got, want.String()); d != "" && *update {
		err = os.WriteFile(path, []byte(before+mark+want.String()+end+after), 0o644)
	} else if d != "" {
		t.Errorf("the table of %s (-is +made of drivers.go; -update writes it):\n%s", path, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range drivers {
		if d.receives != "" && !strings.Contains(after, "\n## "+name+"\n") {
			t.Errorf("%s has no section %s", path, name)
		}
	}
}

func can(name string) int {
	if drivers[name].receives != "" {
		return 1
	}
	return 0
}

// What a driver sends from is another question than what its queues take.
func TestDriverOfSender(t *testing.T) {
	m, err := modes.Find(stream.TX, "devmem")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, kernel, rx, tx string }{
		{"gve", "6.17.0", "lacking", "ok"},
		{"bnxt_en", "6.16.0", "ok", "lacking"},
		{"netkit", "7.1.0", "ok", "lacking"},
		{"ice", "7.2.0", "lacking", "lacking"},
		{"ice", "7.4.0", "warn", "warn"}, // later than what was read
		{"mlx5_core", "6.17.0", "ok", "ok"},
	} {
		f := good(x.name)
		f.kernel = x.kernel
		if c := find(t, f, "zcrx", "driver"); c.Status != x.rx {
			t.Errorf("%s of %s receives: %+v", x.name, x.kernel, c)
		}
		rungs := f.climb(m)
		i := slices.IndexFunc(rungs, func(c wire.Check) bool { return c.Name == "driver" })
		if i < 0 || rungs[i].Status != x.tx {
			t.Errorf("%s of %s sends: %+v", x.name, x.kernel, rungs)
		}
	}
}
