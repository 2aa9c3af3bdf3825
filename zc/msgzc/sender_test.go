// SPDX-License-Identifier: MIT

package msgzc

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/denied"
	"golang.org/x/sys/unix"
)

// With a peer that does not read, calls pile up without notification; once it
// reads, all of them come.
func TestDrainWaitsForAll(t *testing.T) {
	p, m := streamtest.Payload(t, 1<<20), new(stream.Meter)
	s, _ := New(stream.Options{})
	rx, tx, _ := streamtest.Flow(t, p, sock.Options{ZeroCopy: true})
	done := make(chan error, 1)
	go func() { done <- s.Send(tx, p, m) }()
	// It sleeps first when the buffers of both sockets are full, and then again and
	// again, each time to look whether it is to stop.
	awaitSleeps(t, m, 1, done)
	tx.Stop()
	awaitSleeps(t, m, m.Snapshot().Waits+3, done)
	if c := m.Snapshot(); c.Bytes == 0 || c.ZeroCopyBytes+c.CopiedBytes == c.Bytes {
		t.Errorf("the kernel has let go of all: %+v", c)
	}
	drained := streamtest.Sink(rx)
	if err := <-done; err != nil || s.flow.pending != 0 {
		t.Errorf("%v; %d pending", err, s.flow.pending)
	}
	if c := m.Snapshot(); c.ZeroCopyBytes+c.CopiedBytes != c.Bytes || c.Completions == 0 {
		t.Errorf("%+v", c)
	}
	tx.EndOfSend()
	<-drained
}

// awaitSleeps waits until the sender has slept n times; it is not to be done by
// then.
func awaitSleeps(t *testing.T, m *stream.Meter, n uint64, done <-chan error) {
	t.Helper()
	if !await.So(func() bool {
		select {
		case err := <-done:
			t.Fatalf("returned while the kernel has the memory: %v, %+v", err, m.Snapshot())
		default:
		}
		return m.Snapshot().Waits >= n
	}) {
		t.Fatalf("it has not slept %d times: %+v", n, m.Snapshot())
	}
}

// The probe says yes where a socket takes the option, which is anywhere since Linux
// 4.14. Where it does not, it says no, why, and what to do.
func TestProbe(t *testing.T) {
	if err := probe(); err != nil {
		t.Error(err)
	}
	refused := func(errno unix.Errno) error {
		err := remedytest.Denied(unix.SYS_SETSOCKOPT, probe)(errno)
		if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || u.Mode != "msg-zerocopy" {
			t.Errorf("%v", err)
		}
		return err
	}
	remedytest.Try(t, remedy.SetZeroCopy, "SO_ZEROCOPY", refused, unix.EINTR)
	// An older kernel does not know the option. One that does may have it for TCP alone.
	for errno, want := range map[unix.Errno]string{unix.ENOPROTOOPT: "4.14",
		unix.EOPNOTSUPP: "for this kind of socket"} {
		if fix := fault.Fix(refused(errno)); !strings.Contains(fix, want) {
			t.Errorf("%v: %s", errno, fix)
		}
	}
	var err error
	if derr := denied.Run(unix.SYS_SOCKET, unix.EMFILE, func() { err = probe() }); derr != nil {
		t.Fatal(derr)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("without a socket: %v", err)
	}
}

// A call that finds no memory for its notification, and none in flight to wait for, says so.
func TestNoBuffers(t *testing.T) {
	f := Flow{Op: "send with MSG_ZEROCOPY", Call: func(int, int, int) (int, unix.Errno) { return 0, unix.ENOBUFS }}
	_, err := f.sendOne(&stream.Conn{FD: -1}, 0, 1, new(stream.Meter))
	if err := remedytest.Check(remedy.SendZeroCopy, f.Op, unix.ENOBUFS, err); err != nil {
		t.Error(err)
	}
	if s := privilege.Look(); s.Lacks(privilege.Machine, unix.CAP_IPC_LOCK) == privilege.Granted &&
		!strings.Contains(fault.Fix(err), "net.core.optmem_max") {
		t.Errorf("root is told: %s", fault.Fix(err))
	}
}
