// SPDX-License-Identifier: MIT

package environment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/survey"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	base := host()
	whole := base.Now(survey.New([]survey.Fact{{Name: "nic/ring rx", Value: "4096"}}))
	first, err := Write(folderOf(t, dir), base)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Write(folderOf(t, dir), whole.Since(base))
	if err != nil || first == second {
		t.Fatal(err)
	}
	if _, err := Write(folderOf(t, dir), base); err != nil {
		t.Fatal("once more: ", err)
	}
	f := Open(dir)
	got, err := f.Get(second)
	if err != nil || got.Hash() != whole.Hash() {
		t.Fatal(err)
	}
	for _, hash := range []string{"", "x", "../../../etc/passwd", strings.Repeat("0", 64)} {
		if _, err := f.Get(hash); err == nil {
			t.Errorf("%q was read", hash)
		}
	}
	// A file that was changed is not what the runs were made on.
	path := filepath.Join(dir, Dir, first+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte("7.3.4"), []byte("7.3.5"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir).Get(first); !errors.Is(err, survey.ErrChanged) {
		t.Error(err)
	}
	if _, err := Open(dir).Get(second); !errors.Is(err, survey.ErrChanged) {
		t.Error("on a base that was changed: ", err)
	}
}

func host() *survey.Snapshot {
	return survey.New([]survey.Fact{{Name: "sysctl/net.core.rmem_max", Value: "212992"},
		{Name: "kernel/release", Value: "7.3.4"}, {Name: "nic/ring rx", Value: "1024"},
		{Name: "boot/id", Value: "a"}})
}
