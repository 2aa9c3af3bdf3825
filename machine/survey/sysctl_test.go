// SPDX-License-Identifier: MIT

package survey

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A path is of a pattern as package path says, also where it begins like it.
func TestFits(t *testing.T) {
	fit := 0
	for _, p := range append(leftOut, "", "*", "a[bc]/x", "a?c", `a\*`) {
		as := strings.NewReplacer("*", "eth0", "[46]", "4", "[bc]", "c", "?", "b", `\`, "").Replace(p)
		for _, at := range []string{p, as, as + "/x", as + "x", strings.TrimSuffix(as, "h0"), strings.ToUpper(as),
			"x" + as, ""} {
			want, err := path.Match(p, at)
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if got := fits(p, at); got != want {
				t.Errorf("%q is of %q: %v, want %v", at, p, got, want)
			}
			if want {
				fit++
			}
		}
	}
	if fit < len(leftOut) {
		t.Errorf("%d of %d patterns have a path", fit, len(leftOut))
	}
}

// What only root may read is in no snapshot, which others read, though root takes it.
func TestSysctlsOfRootAlone(t *testing.T) {
	proc := t.TempDir()
	for name, mode := range map[string]os.FileMode{"net/core/bpf_jit_harden": 0o600, "net/core/rmem_max": 0o644,
		"vm/mmap_rnd_bits": 0o600, "vm/swappiness": 0o644, "vm/x": 0o640} {
		at := filepath.Join(proc, "sys", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("17\n"), mode),
			os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range Live(FS{Proc: proc, Sys: proc, Root: proc}, Devs{}).Facts {
		got = append(got, f.Name+"="+f.Value)
	}
	if want := "sysctl/net.core.rmem_max=17 sysctl/vm.swappiness=17"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Those of this kernel are all as their modes say.
	for _, f := range Live(FS{}, Devs{}).Facts {
		name, ok := strings.CutPrefix(f.Name, "sysctl/")
		if st, err := os.Stat("/proc/sys/" + strings.ReplaceAll(name, ".", "/")); ok && err == nil &&
			st.Mode()&0o004 == 0 {
			t.Errorf("%s is root's alone", f.Name)
		}
	}
}
