// SPDX-License-Identifier: MIT

package sock

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestDevmemSizes(t *testing.T) {
	for name, c := range map[string][2]uintptr{
		"dmabuf_token": {unsafe.Sizeof(TokenRange{}), 8}, "iovec": {unsafe.Sizeof(offsetIovec{}),
			unsafe.Sizeof(unix.Iovec{})},
		"user_msghdr": {unsafe.Sizeof(msghdr{}), unsafe.Sizeof(unix.Msghdr{})}, "cmsg": {unsafe.Sizeof(idMessage{}),
			uintptr(unix.CmsgSpace(4))},
		"msg_control": {unsafe.Offsetof(msghdr{}.control), unsafe.Offsetof(unix.Msghdr{}.Control)},
		"fragment":    {DevmemControlBytes, uintptr(unix.CmsgSpace(dmabufCmsgLen))},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, the kernel has %d", name, c[0], c[1])
		}
	}
}

// cmsg is a control message as the kernel lays it out.
func cmsg(level, typ int32, data []byte) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(unix.SizeofCmsghdr+len(data)))
	b = binary.NativeEndian.AppendUint32(b, uint32(level))
	b = binary.NativeEndian.AppendUint32(b, uint32(typ))
	b = append(b, data...)
	return append(b, make([]byte, (8-len(b)%8)%8)...)
}

func dmabufCmsg(f DevmemFrag) []byte {
	b := binary.NativeEndian.AppendUint64(nil, f.Offset)
	for _, v := range []uint32{f.Size, f.Token, f.DMABuf, 0} {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	typ := int32(unix.SCM_DEVMEM_DMABUF)
	if f.Linear {
		typ = unix.SCM_DEVMEM_LINEAR
	}
	return cmsg(unix.SOL_SOCKET, typ, b)
}

func all(control []byte) (out []DevmemFrag, err error) {
	f := Fragments(control)
	for {
		frag, ok := f.Next()
		if !ok {
			return out, f.Err()
		}
		out = append(out, frag)
	}
}

func TestDevmemFrags(t *testing.T) {
	want := []DevmemFrag{{Offset: 1 << 40, Size: 4096, Token: 7, DMABuf: 2}, {Linear: true, Size: 12},
		{Offset: 4096, Size: 1, Token: 8, DMABuf: 2}}
	var control []byte
	for i, f := range want {
		control = append(control, dmabufCmsg(f)...)
		if i == 0 {
			control = append(control, cmsg(unix.SOL_SOCKET, unix.SCM_TIMESTAMP, make([]byte, 13))...)
		}
	}
	got, err := all(control)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := testing.AllocsPerRun(100, func() {
		f := Fragments(control)
		for _, ok := f.Next(); ok; _, ok = f.Next() {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDevmemFragsRefused(t *testing.T) {
	good := dmabufCmsg(DevmemFrag{Size: 1})
	for name, b := range map[string][]byte{
		"cut header":   good[:10],
		"cut fragment": good[:30],
		"no length":    make([]byte, 40),
		"long length":  append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, good[8:]...),
		"short data":   cmsg(unix.SOL_SOCKET, unix.SCM_DEVMEM_DMABUF, make([]byte, 16)),
	} {
		if got, err := all(b); err == nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzDevmemFrags(f *testing.F) {
	f.Add(dmabufCmsg(DevmemFrag{Offset: 1, Size: 2, Token: 3, DMABuf: 4}))
	f.Add(append(dmabufCmsg(DevmemFrag{Linear: true, Size: 2}), cmsg(0, 0, make([]byte, 3))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, _ := all(b); len(got) > len(b)/DevmemControlBytes {
			t.Errorf("%d fragments in %d bytes", len(got), len(b))
		}
	})
}

// On an ordinary flow a reader gets ordinary bytes, without fragments, and
// allocates nothing.
func TestDevmemReaderOrdinary(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	linear := make([]byte, 64<<10)
	r := NewDevmemReader(linear, make([]byte, 100*DevmemControlBytes))
	send(t, tx, []byte("hello"), 0)
	ready(t, rx, unix.POLLIN)
	n, frags, truncated, errno := r.Recv(rx, unix.MSG_DONTWAIT)
	if errno == unix.EOPNOTSUPP || errno == unix.EINVAL {
		t.Skip("this kernel has no MSG_SOCK_DEVMEM")
	}
	if _, some := frags.Next(); n != 5 || some || truncated || errno != 0 || string(linear[:5]) != "hello" {
		t.Errorf("%d bytes, %v %v %v", n, some, truncated, errno)
	}
	if n := testing.AllocsPerRun(100, func() { r.Recv(rx, unix.MSG_DONTWAIT) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReleaseNothing(t *testing.T) {
	rx, _ := pair(t, "127.0.0.1:0", Options{})
	ranges := []TokenRange{{Start: 5, Count: 3}}
	n, errno := ReleaseTokens(rx, ranges)
	if errno == unix.ENOPROTOOPT {
		t.Skip("this kernel has no SO_DEVMEM_DONTNEED")
	}
	if n != 0 || errno != 0 {
		t.Errorf("freed %d, %v", n, errno)
	}
	if a := testing.AllocsPerRun(100, func() { ReleaseTokens(rx, ranges) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// A number that no binding has is refused before anything is sent.
func TestDevmemWriterRefused(t *testing.T) {
	_, tx := pair(t, "127.0.0.1:0", Options{ZeroCopy: true})
	w := &DevmemWriter{}
	if n, errno := w.Send(tx, 1<<30, 0, 4096); errno == 0 {
		t.Errorf("sent %d bytes", n)
	}
	if a := testing.AllocsPerRun(100, func() { w.Send(tx, 1<<30, 0, 4096) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
