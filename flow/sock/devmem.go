// SPDX-License-Identifier: MIT

package sock

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// dmabufCmsgLen is sizeof(struct dmabuf_cmsg) of include/uapi/linux/uio.h.
	dmabufCmsgLen = 24
	// DevmemControlBytes is the control space that one fragment takes.
	DevmemControlBytes = unix.SizeofCmsghdr + dmabufCmsgLen
)

// DevmemFrag is a piece of payload (struct dmabuf_cmsg).
type DevmemFrag struct {
	Linear bool   // copied to the linear buffer; only Size counts
	Offset uint64 // in the dmabuf
	Size   uint32
	Token  uint32 // by which it goes back
	DMABuf uint32 // number of the binding
}

// DevmemFrags goes through the fragments of one recvmsg.
type DevmemFrags struct {
	rest []byte
	err  error
}

// Fragments goes through control messages.
func Fragments(control []byte) DevmemFrags { return DevmemFrags{rest: control} }

// Next returns the next fragment; ok is false at the end, or at control messages
// that are none, see Err. Control messages of other kinds are passed over.
func (f *DevmemFrags) Next() (frag DevmemFrag, ok bool) {
	for len(f.rest) > 0 {
		b := f.rest
		if len(b) < unix.SizeofCmsghdr {
			return frag, f.bad("%d bytes after the last", len(b))
		}
		// struct cmsghdr of 64-bit machines: a length with the header, level, type.
		n := binary.NativeEndian.Uint64(b)
		level, typ := int32(binary.NativeEndian.Uint32(b[8:])), int32(binary.NativeEndian.Uint32(b[12:]))
		if n < unix.SizeofCmsghdr || n > uint64(len(b)) {
			return frag, f.bad("length %d of one, with %d bytes left", n, len(b))
		}
		f.rest = b[min((int(n)+7)&^7, len(b)):]
		if level != unix.SOL_SOCKET || typ != unix.SCM_DEVMEM_DMABUF && typ != unix.SCM_DEVMEM_LINEAR {
			continue
		}
		if n != DevmemControlBytes {
			return frag, f.bad("length %d of a fragment, want %d", n, DevmemControlBytes)
		}
		d := b[unix.SizeofCmsghdr:DevmemControlBytes]
		return DevmemFrag{Linear: typ == unix.SCM_DEVMEM_LINEAR, Offset: binary.NativeEndian.Uint64(d),
			Size:  binary.NativeEndian.Uint32(d[8:]),
			Token: binary.NativeEndian.Uint32(d[12:]), DMABuf: binary.NativeEndian.Uint32(d[16:])}, true
	}
	return frag, false
}

// bad ends the walk with an error.
func (f *DevmemFrags) bad(format string, args ...any) bool {
	f.rest, f.err = nil, fmt.Errorf("control messages: "+format, args...)
	return false
}

// Err returns what was wrong with the control messages, when Next has returned false.
func (f *DevmemFrags) Err() error { return f.err }
