// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"fmt"
	"testing"
)

func TestExitOf(t *testing.T) {
	for _, x := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), ExitTrouble},
		{errorf("build", "", "no compiler"), ExitTrouble},
		{&Error{"boot", errSlow, ""}, ExitTimeout},
		{inputf("choose kernel 9.9", "", "not known"), exitUsage},
		{wrap("prepare the guest", fmt.Errorf("x: %w", inputf("choose", "", "not known"))), exitUsage},
	} {
		if got := ExitOf(x.err); got != x.want {
			t.Errorf("%v: %d, want %d", x.err, got, x.want)
		}
	}
}

func TestMachineOptionsCheck(t *testing.T) {
	for _, o := range []MachineOptions{{CPUs: -1}, {CPUs: 256}, {MemMiB: 100}, {MTU: 1279}, {MTU: 9601}} {
		if err := o.check(); ExitOf(err) != exitUsage || err == nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []MachineOptions{{}, {CPUs: 1, MemMiB: 512, MTU: 1280}, {CPUs: 255, MemMiB: 8192, MTU: 9600}} {
		if err := o.check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
