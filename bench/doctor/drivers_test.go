// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/plan/modes"
)

var update = flag.Bool("update", false, "write the tables of docs/nics.md and docs/kernels.md")

// row is a driver's line of the table.
func row(d *driver.Driver) string {
	yes := func(version string) string {
		if version == "" {
			return "no"
		}
		return version
	}
	receives := yes(d.Receives)
	if d.ReceivesIf != "" {
		receives += ": " + d.ReceivesIf
	}
	buffers := "-"
	if d.Receives != "" {
		buffers = cmp.Or(d.Buffers, "a page")
	}
	irqs := "yes"
	switch {
	case d.Virtual:
		irqs = "has none"
	case d.Untold:
		irqs = "no"
	}
	return fmt.Sprintf("| `%s` (%s) | %s | %s | %s | %s | %s | %s | %s | %s |\n", d.Name, d.NIC, receives, yes(d.Sends),
		buffers,
		yes(d.Split), cmp.Or(d.Threshold, "none"), yes(d.HWGRO), irqs, cmp.Or(d.Channels, "combined"))
}

// ways is its line of the second table.
func ways(d *driver.Driver) string {
	all := map[string]string{"ring": "rings", "header-split": "header split", "mtu": "MTU", "rss": "RSS table",
		"rx-buf-len": "receive buffers"}
	var by []string
	for _, s := range d.ResetBy() {
		by = append(by, cmp.Or(all[s], strings.TrimPrefix(s, "feature ")))
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", d.Name, cmp.Or(strings.Join(by, ", "), "nothing"),
		cmp.Or(d.Rules, "?"), cmp.Or(d.Place, "-"), cmp.Or(d.Contexts, "none"))
}

// tables are those of docs/nics.md, with the drivers in their order.
func tables() (table, second string, drivers []*driver.Driver) {
	order := func(a, b *driver.Driver) int { // those that can before those that cannot
		return cmp.Or(cmp.Compare(can(b), can(a)), cmp.Compare(a.Name, b.Name))
	}
	drivers = slices.SortedFunc(slices.Values(driver.All), order)
	table = "| driver, Linux " + driver.ReadIn + " | zcrx, devmem RX since | devmem TX since | receive buffers " +
		"up to | header split | hds-thresh | rx-gro-hw | tells its interrupts | channels |\n" +
		strings.Repeat("|---", 9) + "|\n"
	second = "| driver | changing these restarts all queues | rules | who picks a rule's place | " +
		"RSS contexts |\n|---|---|---|---|---|\n"
	for _, d := range drivers {
		table += row(d)
		if d.Rules != "" || d.Receives != "" && len(d.ResetBy()) > 0 {
			second += ways(d)
		}
	}
	return table, second, drivers
}

// docs/nics.md has the tables, and docs/drivers.md a section for each driver whose queues take
// memory.
func TestDriverDocs(t *testing.T) {
	const path, sections, end = "../../docs/nics.md", "../../docs/drivers.md", "<!-- end -->"
	table, second, drivers := tables()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := string(b)
	page := was
	for mark, want := range map[string]string{"<!-- drivers -->\n": table, "<!-- restarts -->\n": second} {
		before, rest, ok := strings.Cut(page, mark)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no %q", path, mark)
		}
		if d := gocmp.Diff(got, want); d != "" && !*update {
			t.Errorf("the table of %s (-is +made of machine/driver; -update writes it):\n%s", path, d)
		}
		page = before + mark + want + end + after
	}
	if *update && page != was {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one, err := os.ReadFile(sections)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drivers {
		if d.Receives != "" && !strings.Contains(string(one), "\n## "+d.Name+"\n") {
			t.Errorf("%s has no section %s", sections, d.Name)
		}
	}
}

func can(d *driver.Driver) int {
	if d.Receives != "" {
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
		{"gve", "6.12.0-124.8.1.el10_1.x86_64", "warn", "warn"}, // which has parts of later ones
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

// A driver that could not when it was read may be patched: what the kernel answers counts.
func TestPatchedDriver(t *testing.T) {
	for name, x := range map[string]struct {
		provider       error
		rung, attempts string
	}{
		"has queue operations": {&fault.Doubt{Mode: "zcrx", Why: "only a run can tell", How: "run it"}, "warn", "warn"},
		"has none": {&fault.Unsupported{Mode: "zcrx", Op: "register", How: "another NIC"}, "lacking",
			"lacking"},
	} {
		f := good("idpf")
		f.takes["zcrx"] = takes{provider: x.provider}
		if c := find(t, f, "zcrx", "driver"); c.Status != x.rung {
			t.Errorf("%s: %+v", name, c)
		}
		if c := find(t, f, "zcrx", "memory providers"); c.Status != x.rung {
			t.Errorf("%s: %+v", name, c)
		}
		if c := attempt(x.provider, nil); c.Status != x.attempts {
			t.Errorf("%s: %+v", name, c)
		}
		m := receive(t, "zcrx")
		if got := support(m, x.provider); got.Supported != (x.attempts == "warn") ||
			(got.Doubt != "") != got.Supported {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
