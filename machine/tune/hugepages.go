// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/units"
)

// Sysctls that take memory from everybody: the pages of the pool, and those that it may grow by.
const (
	hugePages = "vm.nr_hugepages"
	overPages = "vm.nr_overcommit_hugepages"
)

// meminfo is what /proc/meminfo says of memory and huge pages, in bytes; the pool in pages.
type meminfo struct{ total, available, page, pool int64 }

func (fs FS) meminfo() (m meminfo, err error) {
	path := fs.proc("meminfo")
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return m, err
	}
	for _, x := range []struct {
		key  string
		to   *int64
		unit int64
	}{{"MemTotal", &m.total, 1024}, {"MemAvailable", &m.available, 1024}, {"Hugepagesize", &m.page, 1024},
		{"HugePages_Total", &m.pool, 1}} {
		_, after, _ := strings.Cut("\n"+string(b), "\n"+x.key+":")
		f := strings.Fields(after)
		if len(f) == 0 {
			return m, fmt.Errorf("%s has no %s", path, x.key)
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || n < 0 || n > 1<<50/x.unit {
			return m, fmt.Errorf("%s: %s is %.20q", path, x.key, f[0])
		}
		*x.to = n * x.unit
	}
	return m, nil
}

// room refuses more huge pages than there is memory for. The kernel takes what it is asked for as
// far as it gets, drops every cache and swaps other programs out for it, and fails with nothing
// (mm/hugetlb.c: set_max_huge_pages, __GFP_RETRY_MAYFAIL): a value too large takes all memory of
// the host. A sixteenth of it stays for the others. What is there already costs nothing.
func (fs FS) room(name, value, found string) error {
	op := fmt.Sprintf("set sysctl %s to %s", name, value)
	want, err := strconv.ParseInt(value, 10, 64)
	if err != nil || want < 0 {
		return nil // the kernel refuses it
	}
	m, err := fs.meminfo()
	have := m.pool
	if name == overPages {
		have, _ = strconv.ParseInt(found, 10, 64)
	}
	switch {
	case err != nil:
		return &fault.Error{Op: op, Err: fmt.Errorf("how much memory there is for them is not known: %w", err),
			How: "leave it out, or run on the host"}
	case m.page == 0 || want <= have:
		return nil
	}
	most := have + max(0, m.available-m.total/16)/m.page
	if want <= most {
		return nil
	}
	return &fault.Error{Op: op, How: fmt.Sprintf("ask for at most %d pages, or end what uses memory", most),
		Err: fmt.Errorf("there is memory for %d pages of %v: %d are there, %s of %s are available, and a "+
			"sixteenth of all is left to others",
			most, units.Bytes(m.page), have, mib(m.available), mib(m.total))}
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
