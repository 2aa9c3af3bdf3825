// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/setting"
)

// More huge pages than there is memory for are refused before the kernel is asked, which would take
// all that it finds. What a host had is put back whatever its memory says.
func TestHugePagesBeyondMemory(t *testing.T) {
	// 16 GiB, of which 9 are available and 1 stays: 4096 pages of 2 MiB beside the 100 there are.
	const memory = "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    9437184 kB\nHugePages_Total:   " +
		"  100\nHugepagesize:       2048 kB\n"
	for _, x := range []struct {
		name, memory, want string
		refused            string
	}{
		{"vm.nr_hugepages", memory, "0", ""},
		{"vm.nr_hugepages", memory, "4196", ""},
		{"vm.nr_hugepages", memory, "4197", "there is memory for 4196 pages of 2M"},
		{"vm.nr_hugepages", memory, "16777216", "there is memory for 4196 pages of 2M"},
		{"vm.nr_hugepages", strings.Replace(memory, "2048 kB", "1048576 kB", 1), "109",
			"there is memory for 108 pages of 1G"},
		{"vm.nr_hugepages", strings.Replace(memory, "9437184", "1024", 1), "100", ""},
		{"vm.nr_hugepages", strings.Replace(memory, "9437184", "1024", 1), "101", "there is memory for 100 pages"},
		{"vm.nr_hugepages", "MemTotal: 1 kB\n", "101", "is not known"},
		{"vm.nr_overcommit_hugepages", memory, "4106", ""},
		{"vm.nr_overcommit_hugepages", memory, "4107", "there is memory for 4106 pages"},
		{"vm.nr_overcommit_hugepages", memory, "9223372036854775807", "there is memory for 4106 pages"},
	} {
		file := "proc/sys/vm/" + strings.TrimPrefix(x.name, "vm.")
		had := map[string]string{"vm.nr_hugepages": "100", "vm.nr_overcommit_hugepages": "10"}[x.name]
		fs := fixture(t, map[string]string{"proc/meminfo": x.memory, file: had + "\n"})
		s, err := fs.Setting("sysctl " + x.name)
		if err != nil {
			t.Fatal(err)
		}
		err = setting.Apply(s, "this host", x.want)
		now, rerr := os.ReadFile(filepath.Join(filepath.Dir(fs.Proc), file))
		if rerr != nil {
			t.Fatal(rerr)
		}
		got := strings.TrimSpace(string(now))
		if x.refused == "" {
			if err != nil || got != x.want {
				t.Errorf("%s to %s: %v, and it is %s", x.name, x.want, err, got)
			}
			continue
		}
		if err == nil || !strings.Contains(fmt.Sprint(err), x.refused) || fault.Fix(err) == "" || got != had {
			t.Errorf("%s to %s: %v (fix %q), and it is %s; want %q", x.name, x.want, err, fault.Fix(err), got,
				x.refused)
		}
		if e := (*fault.Error)(nil); !errors.As(err, &e) {
			t.Errorf("%T", err)
		}
		if err := s.Set("2000"); err != nil { // as what is restored is set
			t.Error(err)
		}
	}
}
