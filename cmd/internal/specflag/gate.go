// SPDX-License-Identifier: MIT

package specflag

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/bench/matrix"
)

// gateFlag sets gates of a plan.
type gateFlag struct{ spec *matrix.Spec }

func (f *gateFlag) String() string { return "" }
func (f *gateFlag) Type() string   { return "KEY=LIMIT" }

func (f *gateFlag) Set(s string) error {
	key, limit, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("%.60q: want KEY=LIMIT or KEY=off, with a KEY of %s", s, strings.Join(matrix.GateKeys(), ", "))
	}
	if key == "copied" {
		return fmt.Errorf("copied is --max-copied here")
	}
	return f.spec.SetGate(key, limit)
}
