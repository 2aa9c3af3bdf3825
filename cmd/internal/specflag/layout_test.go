// SPDX-License-Identifier: MIT

package specflag

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/matrix"
	_ "github.com/zcbench/zcbench/bench/modes" // registers them
)

// The TG's CPUs are its own: they say nothing of the SUT's layout.
func TestLayoutsOfBothEnds(t *testing.T) {
	for _, x := range []struct{ args, sut, tg, wrong string }{
		{"--layout 2cpu", "2cpu", "", ""},
		{"--layout 1cpu --tg-layout 2cpu", "1cpu", "2cpu", ""},
		{"--cpus 3,2 --tg-cpus 5,4", "2cpu", "", ""}, // the same
		{"--cpus 3,3 --tg-cpus 5,4", "1cpu", "2cpu", ""},
		{"--tg-cpus 5,4", "", "2cpu", ""},
		{"--layout 1cpu --tg-cpus 5,4", "1cpu", "2cpu", ""},
		{"--layout 2cpu --cpus 3,3", "", "", "--cpus 3,3 is the layout 1cpu, not 2cpu"},
		{"--tg-layout 1cpu --tg-cpus 5,4", "", "", "--tg-cpus 5,4 is the layout 2cpu, not 1cpu"},
		{"--tg-layout 1cpu --tg-cpu -1", "", "", "--tg-layout 1cpu needs pinned threads"},
		{"--layout 1cpu --tg-cpu -1", "", "", "--layout 1cpu needs pinned threads"},
		{"--layout 1cpu --tg-cpu -1 --tg-layout 3cpu", "", "", `"3cpu" is not one of`},
	} {
		var f Flags
		cmd := &cobra.Command{}
		f.Add(cmd, matrix.New(), false)
		err := cmd.ParseFlags(strings.Fields(x.args))
		var s *matrix.Spec
		if err == nil {
			s, err = f.Finish("x")
		}
		switch {
		case x.wrong != "":
			if err == nil || !strings.Contains(err.Error(), x.wrong) {
				t.Errorf("%s: %v, want %q", x.args, err, x.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", x.args, err)
		case s.Cells[0].CPULayout != x.sut || s.Cells[0].TGCPULayout != x.tg:
			t.Errorf("%s: %+v", x.args, s.Cells[0])
		}
	}
}
