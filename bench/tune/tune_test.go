// SPDX-License-Identifier: MIT

package tune

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan/matrix"
	"golang.org/x/sys/unix"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v; it is now\n%s", name, err, got)
	}
}

// What others put into the folder of the results does not say what is read and where is written,
// and a file of the user's is not replaced.
func TestGuardsItsFolder(t *testing.T) {
	kind.Kernel(t)
	spec, err := matrix.Parse("file.yaml", []byte(sizes))
	if err != nil {
		t.Fatal(err)
	}
	spec.TakeTurns()
	goal, _ := GoalOf("throughput")
	const text = "name: x\n"
	for _, x := range []struct {
		name   string
		put    func(dir string) error
		resume bool
		err    string // of the search
		keeps  string // what keeping best.yaml says
	}{
		{"a linked search", func(dir string) error { return os.Symlink(t.TempDir(), dir+"/search") }, false,
			"search is a symbolic link", ""},
		{"one that goes on", func(dir string) error { return os.Symlink(t.TempDir(), dir+"/search") }, true,
			"search is a symbolic link", ""},
		{"a file of the user's", func(dir string) error { return os.WriteFile(dir+"/best.yaml", nil, 0o644) }, false,
			"best.yaml; choose another folder", ""},
		{"a pipe", func(dir string) error { return unix.Mkfifo(dir+"/best.yaml", 0o644) }, true, "",
			"is not a regular file"},
		{"a link", func(dir string) error { return os.Symlink("/dev/zero", dir+"/best.yaml") }, true, "",
			"is a symbolic link"},
		{"a long file", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/best.yaml", nil, 0o644), os.Truncate(dir+"/best.yaml", 1<<40))
		}, true, "", "start over"},
		{"the same", func(dir string) error { return os.WriteFile(dir+"/best.yaml", []byte(text), 0o644) }, true, "",
			""},
	} {
		tuning := &Tuning{Goal: goal, Spec: spec, Time: time.Minute, Dir: t.TempDir(), Resume: x.resume,
			New: func(s *matrix.Spec, dir string, _ bool) *bench.Experiment {
				return &bench.Experiment{Spec: s, Dir: dir}
			}}
		if err := x.put(tuning.Dir); err != nil {
			t.Fatal(err)
		}
		if x.err != "" {
			if _, err := tuning.Run(t.Context()); err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		await.Return(t, x.name, func() { err = tuning.keep(text) })
		if x.keeps == "" && err != nil || x.keeps != "" && (err == nil || !strings.Contains(err.Error(), x.keeps)) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// The dry run of a file whose host a program leads to says which, and that it must be allowed.
func TestDryRunOfAFilesHost(t *testing.T) {
	spec, err := matrix.Parse("file.yaml", []byte(strings.Replace(sizes, "netns:b", "exec:/opt/reach tg", 1)))
	if err != nil {
		t.Fatal(err)
	}
	goal, _ := GoalOf("throughput")
	var b bytes.Buffer
	err = (&Tuning{Goal: goal, Spec: spec, Time: time.Minute, New: func(s *matrix.Spec, dir string,
		_ bool) *bench.Experiment {
		return &bench.Experiment{Spec: s, Dir: dir}
	}}).DryRun(t.Context(), &b)
	in := (interface{ WrongInput() bool })(nil)
	if !errors.As(err, &in) || !in.WrongInput() || !strings.Contains(err.Error(), "--trust-file") ||
		!strings.Contains(b.String(), "TG: /opt/reach tg") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
