// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// A host that a program of the file's leads to is for the user to allow; one that a flag names is
// theirs, whatever the file had.
func TestUntrustedHost(t *testing.T) {
	hosts := func(sut, tg string) *Spec { return mustParse(t, plain+"sut: {host: "+sut+"}\ntg: {host: "+tg+"}\n") }
	for _, x := range []struct{ sut, tg, want string }{
		{"local", "ssh:a", ""},
		{"exec:srun -w n1", "local", "x.yaml:3:13: sut.host runs a program that the file names: " + trusting},
		{"netns:a", "exec:x", "x.yaml:4:12: tg.host runs a program"},
	} {
		s := hosts(x.sut, x.tg)
		for _, err := range []error{s.Untrusted(), s.UntrustedHost()} {
			if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s, %s: %v, want %q", x.sut, x.tg, err, x.want)
			}
		}
	}
	s := hosts("exec:a", "exec:b")
	s.SUT.NameHost("exec:mine")
	if err := s.Untrusted(); err == nil || !strings.Contains(err.Error(), "tg.host") {
		t.Errorf("the TG's is the file's: %v", err)
	}
	s.TG.Move("exec:a")
	if err := s.Untrusted(); err != nil {
		t.Errorf("both are the user's: %v", err)
	}
}
