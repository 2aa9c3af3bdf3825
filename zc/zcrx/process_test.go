// SPDX-License-Identifier: MIT

package zcrx

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// startsRing makes the test binary a process that starts a ring's.
const startsRing = "ZCRX_TEST_STARTS_RING"

// TestStartsRing is no test but the process that TestRingDies kills.
func TestStartsRing(t *testing.T) {
	if os.Getenv(startsRing) == "" {
		t.Skip("it is started by TestRingDies")
	}
	ring := exec.Cmd{Path: "/proc/self/exe", Args: []string{ringName}, Env: []string{},
		ExtraFiles: []*os.File{os.NewFile(ringSocket, ringName)}}
	t.Error(ring.Run())
}

// A ring's process dies with the one that started it, also where the kernel forgot in its exec that
// it is to, and somebody else has its socket open.
func TestRingDies(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), ringName)
	starter := exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], "-test.run=^TestStartsRing$"},
		Env: append(os.Environ(), startsRing+"=1"), ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	// It answers, so that it has begun: these are no queue and no memory.
	var w words
	err = send(pair[0], &words{Mode: "zcrx", AreaSize: 4096}, 0, 0, 0, 0)
	if err == nil {
		_, err = receive(pair[0], &w)
	}
	if err != nil || w.Op == "" {
		t.Errorf("%+v: %v", w, err)
	}
	_ = starter.Process.Kill()
	_ = starter.Wait()
	await.Return(t, "the ring's process dies", func() { _, err = receive(pair[0], &w) })
	if err == nil || !strings.Contains(err.Error(), "closed its socket") {
		t.Errorf("it said %+v: %v", w, err)
	}
}
