// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

var errFull = errors.New("no space left")

// full takes some megabytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A machine whose state cannot be written goes on as if nobody had tried.
func TestIntegrationLabSaveFails(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	p, err := newPlan(t.Context(), MachineOptions{Resume: true, NoKVM: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	m, err := p.boot(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := m.save(&full{10 << 20}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if !m.monitor.running() {
		t.Fatal("the machine stands still")
	}
	var out bytes.Buffer
	o := ExecOptions{Args: []string{os.Args[0]}, Env: []string{helperEnv + "=moment"}, Out: t.TempDir(), Stdout: &out,
		Stderr: io.Discard, Log: io.Discard}
	if err := o.defaults(); err != nil {
		t.Fatal(err)
	}
	r, err := newRequest(&o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if got := m.run(t.Context(), r); got.exit != 0 || got.err != nil || out.Len() == 0 {
		t.Errorf("%+v, %q", got, out.String())
	}
}
