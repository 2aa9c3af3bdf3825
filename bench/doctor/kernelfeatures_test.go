// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// kernelTable is that of docs/kernels.md: the oldest kernel first.
func kernelTable() string {
	rows := slices.Clone(kernelFeatures)
	for _, f := range uring.Known() {
		rows = append(rows, kernelFeature{name: f.Name, use: "modes of io_uring", since: f.Kernel,
			probe: "done with a small ring"})
	}
	slices.SortStableFunc(rows, func(a, b kernelFeature) int {
		return cmp.Compare(number(a.since), number(b.since))
	})
	s := "| feature | for | first kernel | how the doctor finds out |\n|---|---|---|---|\n"
	for _, f := range rows {
		s += fmt.Sprintf("| %s | %s | %s | %s |\n", f.name, f.use, f.since, f.probe)
	}
	return s
}

// number orders kernels.
func number(version string) (n int) {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		panic(version + ": " + err.Error())
	}
	return major*1000 + minor
}

// docs/kernels.md has what the doctor tries, and nothing else.
func TestKernelTable(t *testing.T) {
	const path, mark, end = "../../docs/kernels.md", "<!-- kernels -->\n", "<!-- end -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), mark)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", path, mark, end)
	}
	want := kernelTable()
	if *update && got != want {
		if err := os.WriteFile(path, []byte(before+mark+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := gocmp.Diff(got, want); d != "" {
		t.Errorf("the table of %s (-is +made of the doctor's list; -update writes it):\n%s", path, d)
	}
	names := map[string]bool{}
	for _, f := range kernelFeatures {
		if names[f.name] || f.use == "" || f.probe == "" || f.try == nil {
			t.Errorf("%+v: a second of that name, or something is missing", f)
		}
		names[f.name] = true
	}
}

// The table's dates are right of each kernel of the lab: what is said to come later does not work
// there, and what is said to be there does.
func TestLabKernelFeatures(t *testing.T) {
	release := kernelRelease()
	if os.Getenv(guest.Env) == "" || !driver.Upstream(release) {
		t.Skipf("needs a kernel of the lab's, whose release says what is in it, not %s", release)
	}
	for _, f := range kernelFeatures {
		c := f.check()
		t.Logf("%-36s since %-5s %s %s", f.name, f.since, c.Status, c.Found)
		if lacks := older(release, f.since); lacks != (c.Status == "lacking") {
			t.Errorf("%s of Linux %s on %s: %s, %s", f.name, f.since, release, c.Status, c.Found)
		}
	}
}

// One line adds a feature: to what the doctor tries, and to the table. One that the kernel lacks is
// lacking, and says since when there is one.
func TestOneLineAddsAKernelFeature(t *testing.T) {
	was := kernelFeatures
	defer func() { kernelFeatures = was }()
	kernelFeatures = append(slices.Clone(was),
		kernelFeature{"netdev x", "nothing", "7.9", "asked", func() error { return unix.EOPNOTSUPP }})
	all := kernelChecks()
	c := all[len(all)-1]
	if len(all) != len(was)+1 || c.Name != "netdev x" || c.Status != "lacking" || c.Errno != "EOPNOTSUPP" ||
		c.Fix != "use Linux 7.9 or later" || c.Needed != "Linux 7.9, for nothing" {
		t.Errorf("%+v", c)
	}
	if row := "| netdev x | nothing | 7.9 | asked |\n"; !strings.HasSuffix(kernelTable(), row) {
		t.Errorf("the table does not end with %s", row)
	}
}
