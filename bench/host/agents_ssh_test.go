// SPDX-License-Identifier: MIT

package host_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/internal/long"
)

// A host of another architecture gets the program of the same build that is for it, and its
// helper, and what was copied is used again. The other program is this one here, with a byte
// more: what a processor of that kind does with it, tools/packages tests by emulation.
func TestIntegrationSSHAgentOfMachine(t *testing.T) {
	long.Test(t)
	arch, machine := "arm64", "aarch64"
	if runtime.GOARCH == arch {
		arch, machine = "amd64", "x86_64"
	}
	bin := t.TempDir()
	f := newFar(t, strings.Replace(path, "PATH=", "PATH="+bin+":", 1))
	sshtest.Program(t, bin, "uname", `case $1 in -m) echo `+machine+`;; *) exec /bin/uname "$@";; esac`)
	ours, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	put := func(name string, content []byte) [sha256.Size]byte {
		t.Helper()
		p := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(content)
	}
	theirs, helper := append(ours[:len(ours):len(ours)], 'x'), append(ours[:len(ours):len(ours)], 'h')
	sums := []string{
		fmt.Sprintf("%x  linux-%s/zcbench\n", put("zcbench", ours), runtime.GOARCH),
		fmt.Sprintf("%x  linux-%s/zcbench\n", put("agents/linux-"+arch+"/zcbench", theirs), arch),
		fmt.Sprintf("%x  linux-%s/zcnvml\n", put("agents/linux-"+arch+"/zcnvml", helper), arch),
	}
	o := options()
	o.Binary = filepath.Join(base, "zcbench")
	f.refusedWith("ssh:box", o, "it is Linux/"+machine, "no SHA256SUMS in")
	put("agents/SHA256SUMS", []byte(strings.Join(sums, "")))

	nowhere := func() (string, error) { return "", errors.New("this machine's helper is looked for") }
	var first os.FileInfo
	for range 2 {
		h := f.mustDialWith("ssh:box", o)
		if h.Info.PID == h.PID() {
			t.Errorf("no agent over ssh: %+v", h.Info)
		}
		if err := f.pair.TG.Netns.Do(func() error { return h.Carry(t.Context(), "zcnvml", nowhere) }); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		home := filepath.Join(f.Home, ".cache/zcbench/agent", fmt.Sprintf("%x", sha256.Sum256(theirs)))
		for name, want := range map[string][]byte{"zcbench": theirs, "zcnvml": helper} {
			if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != string(want) {
				t.Errorf("%s arrived with %d bytes of %d, %v", name, len(got), len(want), err)
			}
		}
		st, err := os.Stat(filepath.Join(home, "zcbench"))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !os.SameFile(first, st) {
			t.Error("it was copied again")
		}
		first = st
	}
	if kept := f.kept(); len(kept) != 2 {
		t.Errorf("the host keeps %v", kept)
	}
	put("agents/linux-"+arch+"/zcbench", ours)
	f.refusedWith("ssh:box", o, "is not the one of this build")
}
