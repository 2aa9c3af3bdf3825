// SPDX-License-Identifier: MIT

package counter

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kind"
)

// A tree's time is that of the process, of the child that it waited for, and of
// the one that lives: as much as the kernel charges for all of them in the end.
func TestTreeClock(t *testing.T) {
	kind.Timed(t)
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("needs /proc")
	}
	const burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
	// A shell gives a background child /dev/null to read: it is told where the
	// input is.
	cmd := exec.Command("/bin/sh", "-c", burn+"sh -c '"+burn+"'; exec 3<&0; { sh -c '"+burn+
		"echo; read x' <&3; :; } & wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // all three burnt theirs
		t.Fatal(err)
	}
	living, err := TreeClock(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	own, err := clock(int32(^cmd.Process.Pid<<3 | 2))
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	all := int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	t.Logf("living %d ms, of which its own %d ms; in the end %d ms", living/1e6, own/1e6, all/1e6)
	// What is counted in ticks may lack two of each process.
	if living > all+20e6 || living < all-60e6 || living < 2*own {
		t.Errorf("the tree has %d ms, its first process %d ms; in the end the kernel says %d ms", living/1e6, own/1e6,
			all/1e6)
	}
	if ns, err := TreeClock(cmd.Process.Pid); err == nil {
		t.Errorf("a process that is gone has %d ns", ns)
	}
}

func TestTreeClockOfThis(t *testing.T) {
	if ns, err := TreeClock(unix.Getpid()); err != nil || ns <= 0 {
		t.Errorf("%d ns, %v", ns, err)
	}
}

func FuzzWaitedTicks(f *testing.F) {
	if b, err := os.ReadFile("/proc/self/stat"); err == nil {
		f.Add(b)
	}
	f.Add([]byte("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 70 8 20 0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := waitedTicks(b); err == nil && v < 0 {
			t.Errorf("%q: %d", b, v)
		}
	})
}

func TestWaitedTicks(t *testing.T) {
	if v, err := waitedTicks([]byte("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 70 8 20 0")); err != nil || v != 78 {
		t.Errorf("%d, %v; want 78", v, err)
	}
	for _, bad := range []string{"", "7 (a", "7 (a) S 1 2", "7 (a) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 x 8 20 0"} {
		if _, err := waitedTicks([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
