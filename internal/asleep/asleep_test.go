// SPDX-License-Identifier: MIT

package asleep

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that reads from an empty pipe sleeps in read, goes on when there is a byte,
// and sleeps again.
func TestIn(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	tid, done := make(chan int), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		tid <- unix.Gettid()
		for b := make([]byte, 1); ; {
			if n, err := unix.Read(p[0], b); n == 0 && err == nil {
				return
			}
		}
	}()
	who := <-tid
	before := In(t, who, unix.SYS_READ)
	if call, _ := where(who); call != unix.SYS_READ {
		t.Errorf("it does not sleep in read, but in %d", call)
	}
	if _, err := unix.Write(p[1], []byte{1}); err != nil {
		t.Fatal(err)
	}
	if after := Again(t, who, unix.SYS_READ, before); after <= before {
		t.Errorf("slept %d times, then %d", before, after)
	}
	unix.Close(p[1])
	<-done
	if call, _ := where(-1); call != -1 {
		t.Errorf("a thread that is none sleeps in %d", call)
	}
}
