// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/tune"
)

// A journal, also one that is ours and whole, sets only what a run may set: it
// could be of somebody who was root for a moment.
func TestJournalSetsOnlyWhatARunMay(t *testing.T) {
	defer func(fs tune.FS) { tuneFS = fs }(tuneFS)
	tuneFS = tune.FS{Proc: t.TempDir()}
	file := filepath.Join(tuneFS.Proc, "sys/kernel/core_pattern")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("core\n"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	owner := Owner{PID: 1 << 30, SinceNs: 1}
	f, err := create(dir, line{Kind: journalKind, Version: Version, BootID: boot, Owner: &owner})
	if err == nil {
		err = errors.Join(
			f.write(line{Steps: []step{{Name: "sysctl kernel.core_pattern", Before: "|/x %p", Set: "core"}}}),
			f.f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []FinishOptions{{}, {All: true, Force: true}, {All: true, Force: true, Adopt: true}} {
		o.Dir = dir
		if r := finishDir(t, o); r.State != Owing || r.Steps[0].Result != failure ||
			!strings.Contains(r.Lines()[2], "by hand; then") {
			t.Errorf("%+v", r)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "core\n" {
		t.Errorf("core_pattern is %q, %v", b, err)
	}
}
