// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
	"golang.org/x/sys/unix"
)

// What is said of a kernel that is locked down is so: transfers run, of the probes those that read
// kernel memory do not load, and CPUs are sampled all the same. It needs a machine for itself,
// which nobody can open again.
func TestLabLockdown(t *testing.T) {
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs a machine of its own: go test -exec "$PWD/bin/zcbench lab exec --own-boot --" -run ` +
			`TestLabLockdown ./bench/doctor`)
	}
	const dir = "/sys/kernel/security"
	if err := unix.Mount("securityfs", dir, "securityfs", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		t.Fatal(err)
	}
	for _, mode := range []string{"integrity", "confidentiality"} {
		if err := os.WriteFile(dir+"/lockdown", []byte(mode), 0); err != nil {
			t.Fatal(err)
		}
		if c := (fs{}).lockdown(); !strings.HasPrefix(c.Found, mode+":") {
			t.Errorf("%+v", c)
		}
		out := latencyRun(t, mode)
		refused := strings.Contains(out, "the kernel is locked down (confidentiality)")
		if !strings.Contains(out, "zcrx-cqe") || refused != (mode == "confidentiality") {
			t.Errorf("%s: probes refused: %v", mode, refused)
		}
		if out, err := exec.Command("zcbench", "profile", "--duration", "1s").CombinedOutput(); err != nil ||
			!strings.Contains(string(out), "samples in") {
			t.Errorf("%s: no profile: %v\n%s", mode, err, out)
		}
	}
	if err := os.WriteFile("/proc/sys/kernel/kptr_restrict", []byte("2"), 0); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zcbench", "profile", "--duration", "100ms").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "kernel.kptr_restrict is 2") ||
		!strings.Contains(string(out), "sysctl -w kernel.kptr_restrict=1") {
		t.Errorf("with hidden addresses: %v\n%s", err, out)
	}
}

// latencyRun is what a run with the latency probe says, as one line. A window whose edges were
// read late has measured nothing: how late depends on what else the machine that emulates does,
// so the next one is four times as long, and one more again. The pace leaves the emulated CPUs
// the time to read their clocks.
func latencyRun(t *testing.T, mode string) string {
	t.Helper()
	for d := 2 * time.Second; ; d *= 4 {
		out, err := exec.Command("zcbench", "run", "--sut", "netns:sut", "--tg", "netns:tg", "--rx", "zcrx", "--tx",
			"tcp", "--pace", "80M",
			"--stall", "1m", "--sndbuf", "256K", "--rcvbuf", "1M", "--message-size", "1M", "--ramp-up", "3s",
			"--duration", d.String(),
			"--probe", "latency", "--layout", "1cpu", "--gate", "foreign_cores=off", "--gate",
			"replace=0").CombinedOutput()
		t.Logf("%s: %v\n%s", mode, err, out)
		said := strings.Join(strings.Fields(string(out)), " ")
		if !strings.Contains(said, "its edges") || d > 30*time.Second {
			return said
		}
	}
}
