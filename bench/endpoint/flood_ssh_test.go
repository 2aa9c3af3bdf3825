// SPDX-License-Identifier: MIT

package endpoint

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/ssh"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
)

// sshFloodEnv makes this test binary a process that was reached by ssh: what sshd said is in the
// environment that it began with, and nowhere else.
const sshFloodEnv = "ZCBENCH_TEST_SSH_FLOOD"

// Whoever opens an end that floods is asked by which interface ssh came: a generator, and a rung
// that sends frames back. One that only receives is none.
func TestFloodsSpareSSH(t *testing.T) {
	if os.Getenv(sshFloodEnv) != "" {
		floodsSpareSSH(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestFloodsSpareSSH$", "-test.v")
	cmd.Env = append(os.Environ(), sshFloodEnv+"=1", ssh.Env+"=10.77.0.2 50000 10.77.0.1 22")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestFloodsSpareSSH") {
		t.Errorf("%v\n%s", err, out)
	}
}

func floodsSpareSSH(t *testing.T) {
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rx := func(mode, redirect string) wire.EndSpec {
		return wire.EndSpec{Role: stream.RX, Addr: "10.77.0.1:0", Dev: p.SUT.Dev, Cookie: stream.NewCookie(),
			Flows: []wire.FlowSpec{{CPU: -1}},
			Cell:  plan.Cell{RX: mode, TX: "pktgen-xdp", MessageBytes: 18, XDPRedirect: redirect}}
	}
	tx := rx("xdp-drop", "")
	tx.Role, tx.Addr = stream.TX, "10.77.0.2:7719"
	for _, x := range []struct {
		what    string
		spec    wire.EndSpec
		refused bool
	}{
		{"a generator", tx, true}, {"xdp-tx", rx("xdp-tx", ""), true},
		{"xdp-redirect out again", rx("xdp-redirect", "dev"), true},
		{"xdp-redirect out by another", rx("xdp-redirect", "dev:"+p.SUT.Dev), true},
		{"xdp-redirect by one that ssh does not use", rx("xdp-redirect", "dev:lo"), false},
		{"xdp-drop", rx("xdp-drop", ""), false}, {"xdp-redirect to a CPU", rx("xdp-redirect", ""), false},
		{"xdp-redirect to AF_XDP", rx("xdp-redirect", "xsk"), false},
	} {
		err := p.SUT.Netns.Do(func() error {
			e, err := Open(x.spec)
			if err == nil {
				err = e.Close()
			}
			return err
		})
		refused := err != nil && strings.Contains(err.Error(), "the ssh connection to 10.77.0.2 uses "+p.SUT.Dev)
		if refused != x.refused || refused && fault.Fix(err) == "" || !x.refused && err != nil {
			t.Errorf("%s: %v (%s)", x.what, err, fault.Fix(err))
		}
	}
}
