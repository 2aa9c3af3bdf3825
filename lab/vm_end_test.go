// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// A machine that is switched off has ended, although what its program has started holds the
// console: in the program's group, and in one of its own.
func TestVMEndsWithoutItsChildren(t *testing.T) {
	for name, how := range map[string]string{"in its group": "", "in another": "setsid "} {
		t.Run(name, func(t *testing.T) {
			pid, m, off := fakeVM(t, how+`sh -c 'echo $$ >"$FIFO"; exec sleep 1000' & wait`)
			defer syscall.Kill(pid, syscall.SIGKILL)
			off()
			await.Chan(t, "it is off, and has ended", m.done)
			m.closePorts()
			if name == "in its group" {
				gone(t, pid)
			}
		})
	}
}

// fakeVM starts a script in QEMU's place, which writes the number of a process to $FIFO.
func fakeVM(t *testing.T, script string) (pid int, m *vm, off func()) {
	t.Helper()
	dir := t.TempDir()
	fifo, ram := filepath.Join(dir, "fifo"), filepath.Join(dir, "ram")
	for _, err := range []error{
		syscall.Mkfifo(fifo, 0o600), os.WriteFile(ram, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "qemu-system-x86_64"), []byte("#!/bin/sh\n"+script+"\n"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FIFO", fifo)
	img, err := os.Open(ram)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	ctx, off := context.WithCancel(t.Context())
	if m, err = startVM(ctx, vmConfig{initramfs: img, cpus: 1, memMiB: 1}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid, m, off
}
