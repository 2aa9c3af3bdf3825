// SPDX-License-Identifier: MIT

package disk

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

const firstUser = 100

// ringOf makes a ring for this thread, and memory of pages.
func ringOf(t *testing.T) (*uring.Ring, []byte) {
	t.Helper()
	ring, err := uring.New(uring.Options{SQEntries: 8, CQEntries: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ring.Close() })
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	return ring, mem
}

// pump submits, waits for a completion, and books those that are there.
func pump(t *testing.T, q *Queue, ways map[Way]int) {
	t.Helper()
	if _, err := q.ring.SubmitAndWait(1, time.Minute); err != nil {
		t.Fatal(err)
	}
	n := q.ring.CQReady()
	for i := range n {
		k, way, err := q.Done(q.ring.CQEAt(i))
		if err != nil {
			t.Fatal(err)
		}
		ways[way] += k
	}
	q.ring.Advance(n)
}

// Pieces of a flow that is several times as long as its file are there in the end as they were,
// from memory that is used again as soon as it is back: whole pages direct, by requests of several,
// and what does not begin at a page copied. Each goes back once, in their order.
func TestQueue(t *testing.T) {
	for dir, direct := range folders(t) {
		for name, size := range map[string]func(i int) int{"pages": func(int) int { return 4096 },
			"anything": func(i int) int { return 1 + i*7919%4096 }} {
			f := make1(t, dir, direct)
			ring, mem := ringOf(t)
			q := NewQueue(f, ring, mem, -1, firstUser, 16)
			if f.direct >= 0 {
				if err := ring.RegisterBuffers([][]byte{mem}); err != nil {
					t.Fatal(err)
				}
				if q.index = 0; !fixedVectors(q) {
					q.index = -1
				}
			}
			ways := queued(t, q, 3*leastBytes, size)
			if held, wrong := differ(t, f); held != leastBytes || wrong > 0 {
				t.Errorf("%s, %s: %d of %d bytes differ", dir, name, wrong, held)
			}
			if name == "pages" && f.direct >= 0 && ways[Cached] > 0 || f.direct < 0 && ways[Direct] > 0 {
				t.Errorf("%s, %s: %v", dir, name, ways)
			}
			t.Logf("%s, %s: %v", dir, name, ways)
		}
	}
}

// fixedVectors reports whether the kernel writes vectors of registered buffers (6.15). It writes
// nothing: the file is as it was.
func fixedVectors(q *Queue) bool {
	v := uring.NewVector(1)
	v.Add(q.mem[:4096])
	q.ring.GetSQE().WriteVector(q.f.direct, 0, &v, 0, 1)
	if _, err := q.ring.SubmitAndWait(1, time.Minute); err != nil || q.ring.CQReady() != 1 {
		return false
	}
	ok := q.ring.CQEAt(0).Res == 4096
	q.ring.Advance(1)
	return ok
}

// queued writes so much of a flow, in pieces, each at the beginning of a page that is free.
func queued(t *testing.T, q *Queue, bytes uint64, size func(i int) int) map[Way]int {
	t.Helper()
	ways, free, next := map[Way]int{}, []uint64{}, uint64(0)
	for page := range len(q.mem) / 4096 {
		free = append(free, uint64(page))
	}
	order, came := []uint64{}, uint64(0)
	for i := 0; came < bytes || q.Out() > 0; {
		for ; len(free) > 0 && came < bytes; i++ {
			page, n := free[0], size(i)
			free = free[1:]
			at := int(page) * 4096
			pattern(q.mem[at:at+n], came)
			came += uint64(n)
			q.Push(page, at, n)
			order = append(order, page)
		}
		q.Issue()
		pump(t, q, ways)
		q.Back(func(id uint64, _ int) bool {
			if id != order[next] {
				t.Fatalf("page %d is back, not %d", id, order[next])
			}
			next++
			free = append(free, id)
			return true
		})
	}
	if int(next) != len(order) || q.Waits() || q.f.Written() != came || ways[Direct]+ways[Cached] != int(came) {
		t.Errorf("%d of %d pieces are back, %d of %d bytes written: %v", next, len(order), q.f.Written(), came, ways)
	}
	return ways
}

// What is not taken back waits, and no request overtakes the oldest by the file's length.
func TestQueueWaits(t *testing.T) {
	f := make1(t, inMemory(t), false)
	ring, mem := ringOf(t)
	q := NewQueue(f, ring, mem, -1, firstUser, 16)
	for i := range 3 * leastBytes / len(mem) {
		q.Push(uint64(i), 0, len(mem))
	}
	if n := q.Issue(); uint64(n)*mostRequest > f.size/2+mostRequest || n == 0 {
		t.Errorf("%d requests are under way", n)
	}
	pump(t, q, map[Way]int{})
	if !q.Waits() || q.Back(func(uint64, int) bool { return false }) || q.Out() != 3*leastBytes/len(mem) {
		t.Errorf("waits %v, %d are out", q.Waits(), q.Out())
	}
}

// No direct write begins while a cached one is under way near it; one that is far away, and one
// that is done, do not matter.
func TestQueueKeepsApart(t *testing.T) {
	f := make1(t, inMemory(t), false)
	var err error
	if f.direct, err = unix.Dup(f.fd); err != nil {
		t.Fatal(err)
	}
	f.memory = 512
	ring, mem := ringOf(t)
	q := NewQueue(f, ring, mem, -1, firstUser, 16)
	done := func(i int) {
		t.Helper()
		if _, _, err := q.Done(&uring.CQE{UserData: firstUser + uint64(i), Res: int32(q.requests[i].n)}); err != nil {
			t.Fatal(err)
		}
	}
	q.Push(0, 100, 4096) // is copied
	q.Push(1, 4096, 4096)
	if n := q.Issue(); n != 1 || q.requests[0].way != Cached {
		t.Fatalf("%d requests, the first by way %d", n, q.requests[0].way)
	}
	if n := q.Issue(); n != 0 {
		t.Errorf("%d requests begin beside a cached one", n)
	}
	done(0)
	q.Push(2, 100, 4096)
	if n := q.Issue(); n != 2 || q.requests[1].way != Direct || q.requests[2].way != Cached {
		t.Errorf("%d requests, by ways %d and %d", n, q.requests[1].way, q.requests[2].way)
	}
	f.pos += mostRequest + 4096
	q.Push(3, 8192, 4096)
	if n := q.Issue(); n != 1 || q.requests[3].way != Direct {
		t.Errorf("%d requests, by way %d, far from a cached one", n, q.requests[3].way)
	}
}

// A request that fails, and one that writes less than it was to, say which, where and what to do.
func TestQueueFails(t *testing.T) {
	f := make1(t, inMemory(t), false)
	ring, mem := ringOf(t)
	for res, want := range map[int32]string{-int32(unix.ENOSPC): "no space left", -int32(unix.EINVAL): "invalid",
		100: "100 were written", 0: "0 were written"} {
		q := NewQueue(f, ring, mem, -1, firstUser, 16)
		q.Push(0, 0, 4096)
		q.Issue()
		_, _, err := q.Done(&uring.CQE{UserData: firstUser, Res: res})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "io_uring write of 4096 "+
			"bytes at ") || !strings.Contains(fault.Fix(err), "--then write:DIR") {
			t.Errorf("%d: %v; fix %s", res, err, fault.Fix(err))
		}
	}
}

// A folder with little room has no file, and one that fills up meanwhile says so.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	_, err := Make(dir, 1, MostBytes)
	if err == nil || !strings.Contains(err.Error(), "in half of the 4 MiB that are free") ||
		!strings.Contains(fault.Fix(err), "--then write:DIR") {
		t.Errorf("%v; fix %s", err, fault.Fix(err))
	}
	if err := unix.Mount("none", dir, "", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	var all []*File // whose blocks are not taken
	made := func() { all, err = Make(dir, 1, MostBytes) }
	if err := denied.Run(unix.SYS_FALLOCATE, unix.EOPNOTSUPP, made); err != nil {
		t.Fatal(err)
	}
	if err != nil || all[0].size != 32<<20 {
		t.Fatalf("%+v, %v", all, err)
	}
	f := all[0]
	defer f.Close()
	if err := unix.Mount("none", dir, "", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(b, Cached)
	}
	if !strings.Contains(err.Error(), "pwrite 65536 bytes at 1048576 (a file in") ||
		!strings.Contains(fault.Fix(err), "free space there") {
		t.Errorf("%v; fix %s", err, fault.Fix(err))
	}
}
