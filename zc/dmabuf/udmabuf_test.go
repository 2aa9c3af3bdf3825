// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(udmabufCreate{}); n != 24 {
		t.Errorf("struct udmabuf_create: %d bytes, the kernel has 24", n)
	}
	if n := unsafe.Sizeof(dmaBufSync{}); n != 8 {
		t.Errorf("struct dma_buf_sync: %d bytes, the kernel has 8", n)
	}
	const create = 1<<30 | 24<<16 | 'u'<<8 | 0x42
	if udmabufIoctl != create {
		t.Errorf("UDMABUF_CREATE is %#x, want %#x", udmabufIoctl, create)
	}
	const sync = 1<<30 | 8<<16 | 'b'<<8
	if syncIoctl != sync {
		t.Errorf("DMA_BUF_IOCTL_SYNC is %#x, want %#x", syncIoctl, sync)
	}
}

// make1 makes a udmabuf, or skips where the kernel has none.
func make1(t *testing.T, size int, opts ...Option) (*Memory, error) {
	t.Helper()
	u, err := NewUdmabuf(size, opts...)
	if _, serr := os.Stat("/dev/udmabuf"); serr != nil {
		var e *fault.Error
		if !errors.Is(err, unix.ENOENT) || !errors.As(err, &e) || !strings.Contains(e.Fix(), "modprobe udmabuf") {
			t.Errorf("without the device: %v", err)
		}
		t.Skipf("%v", err)
	}
	return u, err
}

func TestUdmabuf(t *testing.T) {
	const size = 1 << 20
	u, err := make1(t, size)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Bytes) != size || u.Size != size || u.FD < 0 {
		t.Errorf("%d bytes, descriptor %d", len(u.Bytes), u.FD)
	}
	if err := errors.Join(u.Begin(Write), u.End(Write)); err != nil {
		t.Error(err)
	}
	if n := testing.AllocsPerRun(100, func() { u.Begin(Read); u.Bytes[size-1]++; u.End(Read) }); n != 0 {
		t.Errorf("an access allocates %v times", n)
	}
	for range 2 {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := u.Begin(Read); !errors.Is(err, unix.EBADF) {
		t.Errorf("access after Close: %v", err)
	}
	if _, err := NewUdmabuf(4096 + 1); err == nil {
		t.Error("made one of a page and a byte")
	}
}

func TestUdmabufLimit(t *testing.T) {
	mb, known := sizeLimit()
	if !known {
		t.Skip("this kernel has no udmabuf, or does not tell its limit")
	}
	if mb > 1<<20 { // more than memory: the test's own, for this machine is the test's
		if os.Getenv("ZCBENCH_LAB") == "" {
			t.Skipf("the limit of %d MiB is beyond this machine's memory", mb)
		}
		old := fmt.Sprint(mb)
		defer os.WriteFile(limitFile, []byte(old), 0)
		mb = 8
		if err := os.WriteFile(limitFile, []byte("8"), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := NewUdmabuf((mb + 1) << 20)
	var e *fault.Error
	if !errors.Is(err, ErrLimit) || !errors.As(err, &e) || !strings.Contains(e.Fix(), "size_limit_mb") {
		t.Errorf("%v", err)
	}
}

func TestLabUdmabufHuge(t *testing.T) {
	if os.Getenv("ZCBENCH_LAB") == "" {
		t.Skip(`needs the lab's guest, with huge pages: go test -exec "$PWD/bin/zcbench lab exec --" ./zc/dmabuf`)
	}
	u, err := make1(t, 4<<20, HugePages)
	if err != nil {
		t.Fatal(err)
	}
	u.Bytes[4<<20-1] = 1
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	_, err = NewUdmabuf(1<<30, HugePages)
	var e *fault.Error
	if !errors.As(err, &e) || e.Fix() == "" {
		t.Errorf("a GiB of huge pages: %v", err)
	}
	t.Logf("%v; fix: %s", err, e.Fix())
}
