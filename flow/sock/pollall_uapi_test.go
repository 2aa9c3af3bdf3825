// SPDX-License-Identifier: MIT

package sock

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// Of several sockets those are told that have something, and none that was left.
func TestWaiterOfAll(t *testing.T) {
	var w WaiterOfAll
	var tx [3]int
	for i := range tx {
		var rx int
		rx, tx[i] = pair(t, "127.0.0.1:0", Options{})
		w.Add(rx, unix.POLLIN)
	}
	told := func() (out [3]bool) {
		for i := range out {
			out[i] = w.Has(i)
		}
		return out
	}
	wait := func() (n int, errno unix.Errno) {
		await.Until(t, "a socket has something", func() bool {
			n, errno = w.Wait(time.Second) // a signal, such as the runtime's, ends it early
			return n != 0 || errno != 0
		})
		return n, errno
	}
	if n, errno := w.Wait(0); n != 0 || errno != 0 || told() != [3]bool{} {
		t.Errorf("of nothing: %d %v %v", n, errno, told())
	}
	send(t, tx[1], []byte("x"), 0)
	if n, errno := wait(); n != 1 || errno != 0 || told() != [3]bool{1: true} {
		t.Errorf("of the second: %d %v %v", n, errno, told())
	}
	w.Leave(1)
	send(t, tx[2], []byte("x"), 0)
	if n, errno := wait(); n != 1 || errno != 0 || told() != [3]bool{2: true} {
		t.Errorf("of the third: %d %v %v", n, errno, told())
	}
	if a := testing.AllocsPerRun(100, func() { w.Wait(0) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
