// SPDX-License-Identifier: MIT

package specflag

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/plan/matrix"
)

// gateFlag sets gates of a plan.
type gateFlag struct {
	spec *matrix.Spec
	not  map[string]string // the flags that gates have of their own
}

// AddGate defines the flag of all gates of a plan.
func AddGate(fs *pflag.FlagSet, spec *matrix.Spec) { addGate(fs, &gateFlag{spec: spec}) }

func addGate(fs *pflag.FlagSet, f *gateFlag) {
	fs.Var(f, "gate", "change a gate's limit, or turn it off; runs beyond it are invalid (repeatable; docs/gates.md)")
}

func (f *gateFlag) String() string { return "" }
func (f *gateFlag) Type() string   { return "KEY=LIMIT" }

func (f *gateFlag) Set(s string) error {
	key, limit, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("%.60q: want KEY=LIMIT or KEY=off, with a KEY of %s", s,
			strings.Join(matrix.GateKeys(), ", "))
	}
	if flag := f.not[key]; flag != "" {
		return fmt.Errorf("%s is %s here", key, flag)
	}
	return f.spec.SetGate(key, limit)
}
