// SPDX-License-Identifier: MIT

package bpf_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"golang.org/x/sys/unix"
)

// Threads that the kernel makes for a ring of this process are the process'.
func TestIntegrationTasksOfARing(t *testing.T) {
	kind.Timed(t)
	tasks := openTasks(t, bpf.TasksOptions{})
	cpu := lastCPU(t)
	// struct io_uring_params (include/uapi/linux/io_uring.h)
	params := struct {
		sqEntries, cqEntries, flags, cpu, idleMs uint32
		rest                                     [25]uint32
	}{flags: 1<<1 | 1<<2, cpu: uint32(cpu), idleMs: 5000} // SQPOLL, SQ_AFF
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		t.Skipf("io_uring: %v", errno)
	}
	defer unix.Close(int(fd))
	// It polls for idleMs from when it is woken (IORING_ENTER_SQ_WAKEUP), which it must be asleep
	// for.
	for range 10 {
		await.Pause("the thread begins", 50*time.Millisecond)
		if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 0, 0, 1<<1, 0, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	from := readTasks(t, tasks)
	await.Pause("the window", 500*time.Millisecond)
	d := on(t, from, readTasks(t, tasks), cpu)
	if own := d.Ns[counter.TasksOwn][counter.TaskItself]; own < 20e6 {
		t.Errorf("a thread that polls the ring all the time is own for %d ns of %d", own, d.WallNs())
	}
	for _, r := range d.Top {
		if strings.HasPrefix(r.Name, "iou-") || r.Key == uint64(os.Getpid()) {
			t.Errorf("others: %+v", r)
		}
	}
}
