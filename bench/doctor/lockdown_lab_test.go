// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"golang.org/x/sys/unix"
)

// What is said of a kernel that is locked down is so: transfers run, and of the probes
// those that read kernel memory do not load. It needs a machine for itself, which nobody can
// open again.
func TestLabLockdown(t *testing.T) {
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs a machine of its own: go test -exec "$PWD/bin/zcbench lab exec --own-boot --" -run TestLabLockdown ./bench/doctor`)
	}
	const dir = "/sys/kernel/security"
	if err := unix.Mount("securityfs", dir, "securityfs", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		t.Fatal(err)
	}
	for _, mode := range []string{"integrity", "confidentiality"} {
		if err := os.WriteFile(dir+"/lockdown", []byte(mode), 0); err != nil {
			t.Fatal(err)
		}
		if c := (FS{}).lockdown(); !strings.HasPrefix(c.Found, mode+":") {
			t.Errorf("%+v", c)
		}
		out, err := exec.Command("zcbench", "run", "--sut", "netns:sut", "--tg", "netns:tg", "--rx", "zcrx", "--tx", "tcp", "--ramp-up", "3s", "--duration", "2s", "--message-size", "1M", "--probe", "latency", "--layout", "1cpu", "--gate", "foreign_cores=off").CombinedOutput()
		t.Logf("%s: %v\n%s", mode, err, out)
		said := strings.Join(strings.Fields(string(out)), " ")
		refused := strings.Contains(said, "the kernel is locked down (confidentiality)")
		if !strings.Contains(said, "zcrx-cqe") || refused != (mode == "confidentiality") {
			t.Errorf("%s: probes refused: %v", mode, refused)
		}
	}
}
