// SPDX-License-Identifier: MIT

package ssh

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A flood is refused where ssh needs the interface, and where it is not known whether it does.
func TestRefuse(t *testing.T) {
	inHost(t, func(dev, addr string) error {
		for what, x := range map[string]struct{ dev, said, want string }{
			"nobody came by ssh":             {dev, "", ""},
			"ssh by it":                      {dev, "10.77.0.2 50000 " + addr + " 22", "uses " + dev},
			"ssh from behind a rule":         {dev, "203.0.113.9 50000 " + addr + " 22", "uses " + dev},
			"ssh from this host":             {dev, addr + " 50000 " + addr + " 22", ""},
			"ssh in another namespace":       {dev, "203.0.113.9 50000 203.0.113.1 22", ""},
			"ssh by no network":              {dev, "UNKNOWN 65535 UNKNOWN 65535", "unknown by which"},
			"not what sshd says":             {dev, "me", "unknown by which"},
			"from nowhere":                   {dev, "203.0.113.9 50000 127.0.0.1 22", "unknown by which"},
			"an interface that is none":      {"zcnone", "10.77.0.2 50000 " + addr + " 22", "no such interface"},
			"an interface without name":      {"", "10.77.0.2 50000 " + addr + " 22", "no such interface"},
			"another one than that":          {"lo", "10.77.0.2 50000 " + addr + " 22", ""},
			"a terminal that is played with": {dev, "\x1b[2J 1 2 3", "unknown by which"},
		} {
			err := refuse(x.dev, x.said)
			if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) ||
				strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("%s: %v, want %q", what, err, x.want)
			}
		}
		return nil
	})
}

// loginEnv makes this test binary a process that says how it was reached.
const loginEnv = "ZCBENCH_TEST_SSH_LOGIN"

// A process is asked, and those above it that sudo stands between.
func TestLogin(t *testing.T) {
	const said = "10.0.0.9 50000 10.0.0.1 22"
	if os.Getenv(loginEnv) != "" {
		if got := login(os.Getpid()); got != said {
			t.Errorf("login: %q", got)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, clean := range []string{"", "env -u " + Env} {
		cmd := exec.Command("/bin/sh", "-c", clean+` "$0" -test.run='^TestLogin$' -test.v; exit $?`, self)
		cmd.Env = append(os.Environ(), loginEnv+"=1", Env+"="+said)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestLogin") {
			t.Errorf("%q: %v\n%s", clean, err, out)
		}
	}
}
