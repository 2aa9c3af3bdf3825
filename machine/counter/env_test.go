// SPDX-License-Identifier: MIT

package counter

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
)

func TestReadEnv(t *testing.T) {
	env, warnings := ReadEnv(fixture(t, "before"), "")
	want := measure.Env{
		Hostname: "node1", BootID: "11111111-2222-3333-4444-555555555555", Kernel: "6.18.0",
		CPUModel: "Example CPU @ 2.00GHz", CPUs: 3, Governor: "performance+powersave",
		Mitigations: "mitigations=auto,nosmt; mitigated: retbleed; vulnerable: mds spectre_v2",
		GoVersion:   runtime.Version(),
	}
	if runtime.GOARCH != "amd64" { // the fixture's cpuinfo is of an x86 machine
		env.CPUModel = want.CPUModel
	}
	if diff := cmp.Diff(want, env); diff != "" || len(warnings) != 0 {
		t.Errorf("warnings %q (-want +got):\n%s", warnings, diff)
	}
}

func TestReadEnvBare(t *testing.T) {
	env, warnings := ReadEnv(FS{proc: "testdata", sys: "testdata"}, "nosuchdev0")
	if diff := cmp.Diff(measure.Env{Dev: "nosuchdev0", GoVersion: runtime.Version()}, env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warnings) != 2 {
		t.Errorf("warnings %q, want one for the CPUs and one for the interface", warnings)
	}
}

func TestReadEnvHere(t *testing.T) {
	env, _ := ReadEnv(FS{}, "")
	if env.Kernel == "" || env.BootID == "" || env.Hostname == "" || env.CPUs < 1 {
		t.Errorf("%+v", env)
	}
}
