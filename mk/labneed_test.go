// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Whether this system has Debian's packages is told by apt, also before it has read any list.
func TestNeedsAMirror(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the lab is of x86-64 alone")
	}
	for _, x := range []struct{ what, read, unread, why string }{
		{"Debian", "Google|Google|Packages|https://p.example/apt/\nDebian|Debian|Packages|http://deb.example/debian/\n",
			"", ""},
		{"Debian, by another name", "Debian|Debian|Packages|https://mirror.example/deb/\n", "", ""},
		{"a fresh container", "", "$(ORIGIN)|$(LABEL)|Packages|http://deb.example/debian/\n", ""},
		{"security updates alone", "", "$(ORIGIN)|$(LABEL)|Packages|http://deb.example/debian-security/\n",
			"needs a Debian mirror"},
		{"Ubuntu", "Ubuntu|Ubuntu|Packages|http://archive.example/ubuntu/\n",
			"$(ORIGIN)|$(LABEL)|Packages|http://other.example/debian/\n", "needs a Debian mirror"},
		{"no sources", "", "", "needs a Debian mirror"},
	} {
		bin := t.TempDir()
		for name, script := range map[string]string{
			"uname":      "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac",
			"dpkg-query": "printf 'install ok installed'",
			"apt-get":    "case \" $* \" in *' --no-release-info '*) cat \"$0.unread\" ;; *) cat \"$0.read\" ;; esac",
		} {
			must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(bin, "apt-get.read"), []byte(x.read), 0o644))
		must(t, os.WriteFile(filepath.Join(bin, "apt-get.unread"), []byte(x.unread), 0o644))
		cmd := exec.Command("sh", "lab-need.sh", "qemu-system-x86")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ZCBENCH_DEBIAN_MIRROR=")
		out, err := cmd.Output()
		if must(t, err); !strings.HasPrefix(string(out), x.why) || (x.why == "") != (len(out) == 0) {
			t.Errorf("%s: %q, want %q", x.what, out, x.why)
		}
	}
}
