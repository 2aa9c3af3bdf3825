package dmabuf

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(udmabufCreate{}); n != 24 {
		t.Errorf("struct udmabuf_create: %d bytes, the kernel has 24", n)
	}
	const iow = 1<<30 | 24<<16 | 'u'<<8 | 0x42
	if udmabufIoctl != iow {
		t.Errorf("UDMABUF_CREATE is %#x, want %#x", udmabufIoctl, iow)
	}
}

func TestUdmabuf(t *testing.T) {
	const size = 1 << 20
	u, err := NewUdmabuf(size)
	if err != nil {
		var e *Error
		if _, serr := os.Stat("/dev/udmabuf"); errors.As(err, &e) && serr != nil {
			if !errors.Is(err, unix.ENOENT) || !strings.Contains(e.Fix(), "modprobe udmabuf") {
				t.Errorf("without the device: %v; %s", err, e.Fix())
			}
			t.Skipf("%v", err)
		}
		t.Fatal(err)
	}
	if len(u.Bytes()) != size || u.FD < 0 {
		t.Errorf("%d bytes, descriptor %d", len(u.Bytes()), u.FD)
	}
	u.Bytes()[size-1] = 1
	for range 2 {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewUdmabuf(4096 + 1); err == nil {
		t.Error("made one of a page and a byte")
	}
}
