// SPDX-License-Identifier: MIT

package hugepages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// of puts a pool in place of the machine's.
func of(t *testing.T, p func() (Pool, error)) {
	t.Helper()
	before := read
	read = p
	t.Cleanup(func() { read = before })
}

// Pages that are on their way back are waited for, and then had; the bound ends the wait where they
// do not come.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		back := begun.Add(3 * time.Second)
		of(t, func() (Pool, error) {
			if time.Now().Before(back) {
				return Pool{Total: 32, Free: 15}, nil
			}
			return Pool{Total: 32, Free: 32}, nil
		})
		tries := 0
		try := func() error {
			tries++
			if time.Now().Before(back) {
				return unix.ENOMEM
			}
			return nil
		}
		if err := Await(17*Size, try); err != nil || tries < 2 || time.Since(begun) < 3*time.Second {
			t.Errorf("%v after %d tries and %v", err, tries, time.Since(begun))
		}

		back = time.Now().Add(time.Hour)
		err := Await(17*Size-1, try)
		var short *Short
		if !errors.As(err, &short) || !errors.Is(err, unix.ENOMEM) || !short.Busy() || short.Waited != within ||
			time.Until(back) < 50*time.Minute {
			t.Errorf("never back: %+v", err)
		}
		if want := "cannot allocate memory (ENOMEM): 17 are needed, and 15 of 32 huge pages of 2 MiB are free, " +
			"10s later"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	})
}

// A process that is to end waits no longer.
func TestGiveUp(t *testing.T) {
	defer over.Store(false)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		of(t, func() (Pool, error) { return Pool{Total: 32, Free: 15}, nil })
		time.AfterFunc(time.Second, GiveUp)
		var short *Short
		if err := Await(17*Size, func() error { return unix.ENOMEM }); !errors.As(err, &short) ||
			time.Since(begun) > time.Second+again {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// Nobody waits for what cannot come.
func TestAwaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		for name, p := range map[string]func() (Pool, error){
			"too few":  func() (Pool, error) { return Pool{Total: 8, Free: 8}, nil },
			"no pool":  func() (Pool, error) { return Pool{}, os.ErrNotExist },
			"not read": func() (Pool, error) { return Pool{}, os.ErrPermission },
		} {
			of(t, p)
			var short *Short
			if err := Await(32*Size, func() error { return unix.ENOMEM }); !errors.As(err, &short) || short.Busy() {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := Await(Size, func() error { return unix.EPERM }); err != unix.EPERM {
			t.Errorf("another error became %v", err)
		}
		if time.Since(begun) != 0 {
			t.Errorf("waited %v", time.Since(begun))
		}
	})
}

// The fix never makes the pool smaller, counts what others have, and names the file where
// vm.nr_hugepages is about pages of another size.
func TestFix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	defer func(before string) { meminfo = before }(meminfo)
	meminfo = file
	for _, c := range []struct {
		size string
		err  Short
		want []string
	}{
		{"2048", Short{Need: 512, Pool: Pool{Total: 32, Free: 32}},
			[]string{"sysctl -w vm.nr_hugepages=512 (before: 32)"}},
		{"2048", Short{Need: 32, Pool: Pool{Total: 20, Free: 4}},
			[]string{"sysctl -w vm.nr_hugepages=48 (before: 20)"}},
		{"2048", Short{Need: 17, Pool: Pool{Total: 32, Free: 16, Reserved: 1}},
			[]string{"end what has them", "sysctl -w vm.nr_hugepages=34 (before: 32)"}},
		{"2048", Short{Need: 17, Pool: Pool{Total: 32, Free: 32}}, []string{"hugetlb.2MB.max", "cpuset.mems"}},
		{"1048576", Short{Need: 16},
			[]string{"echo 16 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages (before: 0)"}},
		{"2048", Short{Need: 16, Read: os.ErrPermission}, []string{"see that 16 more are free"}},
		{"2048", Short{Need: 16, Read: os.ErrNotExist}, []string{"CONFIG_HUGETLBFS"}},
	} {
		if err := os.WriteFile(file, []byte("MemTotal: 1 kB\nHugepagesize:    "+c.size+" kB\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if got := c.err.Fix(); !strings.Contains(got, want) {
				t.Errorf("%+v: %q, want %q", c.err, got, want)
			}
		}
	}
}

func TestRead(t *testing.T) {
	sys := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(sys, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text+"\n"),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(sys); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no pool: %v", err)
	}
	for name, text := range map[string]string{"nr_hugepages": "33", "free_hugepages": "20", "resv_hugepages": "4",
		"surplus_hugepages": "1", "nr_overcommit_hugepages": "3"} {
		put("kernel/mm/"+folder+"/"+name, text)
	}
	for node, text := range map[string]string{"node0": "16", "node1": "17"} {
		put("devices/system/node/"+node+"/"+folder+"/nr_hugepages", text)
		put("devices/system/node/"+node+"/"+folder+"/free_hugepages", "10")
	}
	p, err := Read(sys)
	if err != nil || p.Available() != 18 || !p.Holds(35) || p.Holds(36) {
		t.Errorf("%+v, %v: %d", p, err, p.Available())
	}
	put("kernel/mm/"+folder+"/resv_hugepages", "18446744073709551596")
	if p, err := Read(sys); err != nil || p.Reserved != 0 || p.Available() != 22 {
		t.Errorf("pages that a ring still holds: %+v, %v", p, err)
	}
	if want := "16 of 33 huge pages of 2 MiB are free (10 of 16 on node 0, 10 of 17 on node 1)"; p.String() != want {
		t.Errorf("%q, want %q", p, want)
	}
}
