// SPDX-License-Identifier: MIT

package ssh

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// aboveEnv makes this test binary a process that looks above itself, for the controller that it
// names.
const aboveEnv = "ZCBENCH_TEST_SSH_ABOVE"

// What a process above holds is seen; the controller above ends the search, and of nobody's it is
// said that it is not known.
func TestAbove(t *testing.T) {
	if me := os.Getenv(aboveEnv); me != "" {
		for _, l := range Above(strings.TrimPrefix(me, "none ")) {
			if l.Err != nil {
				t.Logf("FOUND unknown: %v", l.Err)
				continue
			}
			t.Logf("FOUND %s", l.What())
		}
		return
	}
	inHost(t, func(dev, addr string) error {
		l, err := net.Listen("tcp", addr+":0")
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		look := func(me string) string {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestAbove$", "-test.v")
			cmd.Env = append(os.Environ(), aboveEnv+"="+me)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			return string(out)
		}
		if out := look("none 1 2 3"); !strings.Contains(out, "to "+addr) ||
			!strings.Contains(out, "FOUND the connection of ") {
			t.Errorf("ours is not seen: %s", out)
		}
		if out := look(Self()); strings.Contains(out, "FOUND") {
			t.Errorf("the controller is above: %s", out)
		}
		c.Close()
		l.Close()
		s, err := rtnl.ReadStack()
		if err != nil {
			return err
		}
		if why, err := Shares([]*Link{unseen(errUnseen), nil}, s, dev); why != "" || err != nil {
			t.Errorf("%q, %v", why, err)
		}
		return nil
	})
}
