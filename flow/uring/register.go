// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// register calls io_uring_register(2), again where a signal ended it. What arg points at must
// contain no address of Go memory.
func (r *Ring) register(op uintptr, arg unsafe.Pointer, n int) (int, unix.Errno) {
	for {
		k, errno := r.engine.register(op, arg, n)
		if errno != unix.EINTR {
			return k, errno
		}
	}
}

// Enable starts a ring made with Options.Disabled and gives it to the calling
// thread. It fails with EBADFD when the ring is not disabled.
func (r *Ring) Enable() error {
	if r.closed {
		return errClosed
	}
	if _, errno := r.register(registerEnableRings, nil, 0); errno != 0 {
		return r.failed(remedy.UringEnable, "enable ring", errno, 0)
	}
	r.belong()
	if r.registerFD {
		return r.registerRingFD()
	}
	return nil
}

// belong notes that the kernel has given a ring for one issuer to this thread.
func (r *Ring) belong() {
	if r.SingleIssuer() {
		r.issuer = unix.Gettid()
	}
}

// registerRingFD makes entering cheaper on this thread: no descriptor lookup.
func (r *Ring) registerRingFD() error {
	if errno := r.engine.registerFD(); errno != 0 {
		return r.failed(remedy.UringRingFD, "register ring descriptor", errno, 0)
	}
	r.registered, r.owner = true, unix.Gettid()
	return nil
}

func (r *Ring) unregisterRingFD() error {
	if !r.registered {
		return nil
	}
	r.registered = false
	if r.owner != unix.Gettid() {
		return errors.New("uring: ring closed on another thread than the one that registered its descriptor: the " +
			"kernel keeps it until that thread ends")
	}
	return r.failed(remedy.UringRingFD, "unregister ring descriptor", r.engine.unregisterFD(), 0)
}

// unregisterAll gives back what Close would otherwise leave to the kernel's
// own time, such as locked memory. Errors of the first two only mean that.
func (r *Ring) unregisterAll() error {
	if r.buffers {
		_ = r.UnregisterBuffers()
	}
	if r.files {
		_ = r.UnregisterFiles()
	}
	return r.unregisterRingFD()
}

// RegisterBuffers pins bufs, memory of [NewMemory] of at most 1 GiB each, for
// [sqe.SendZCFixed]; a buffer's index is its place in bufs. It fails with ENOMEM
// above the limit on locked memory, EBUSY when there are buffers already, EFAULT
// for memory that is not mapped.
func (r *Ring) RegisterBuffers(bufs [][]byte) error {
	if r.closed {
		return errClosed
	}
	if len(bufs) == 0 {
		return errors.New("uring: no buffers to register")
	}
	total := 0
	iov := make([]unix.Iovec, len(bufs))
	for i, b := range bufs {
		iov[i].Base = unsafe.SliceData(b)
		iov[i].SetLen(len(b))
		total += len(b)
	}
	if _, errno := r.register(registerBuffers, unsafe.Pointer(&iov[0]), len(iov)); errno != 0 {
		return r.failed(remedy.UringBuffers, fmt.Sprintf("register %d buffers of %d bytes in all", len(bufs), total),
			errno, total)
	}
	r.buffers = true
	return nil
}

// UnregisterBuffers undoes RegisterBuffers; ENXIO when there are none.
func (r *Ring) UnregisterBuffers() error {
	_, errno := r.register(unregisterBuffers, nil, 0)
	if errno == 0 {
		r.buffers = false
	}
	return r.failed(remedy.UringBuffers, "unregister buffers", errno, 0)
}

// RegisterFiles makes fds known to the ring, which saves the lookup and the
// reference of each request: see [sqe.FixedFile]. An fd of -1 leaves its index
// free for UpdateFile. The ring keeps the files open until they are
// unregistered. It fails with EBADF, and with EBUSY when there are files already.
func (r *Ring) RegisterFiles(fds []int) error {
	if r.closed {
		return errClosed
	}
	if len(fds) == 0 {
		return errors.New("uring: no files to register")
	}
	list := make([]int32, len(fds))
	for i, fd := range fds {
		list[i] = int32(fd)
	}
	_, errno := r.register(registerFiles, unsafe.Pointer(&list[0]), len(list))
	if errno == 0 {
		r.files = true
	}
	return r.failed(remedy.UringFiles, fmt.Sprintf("register %d files", len(fds)), errno, 0)
}

// UpdateFile puts fd at index, or frees the index with -1.
func (r *Ring) UpdateFile(index, fd int) error {
	if r.closed {
		return errClosed
	}
	// The address of Go memory goes inside of a structure, so both are in the
	// scratch memory, which no wait uses now.
	s := (*struct {
		up rsrcUpdate
		fd int32
	})(unsafe.Pointer(r.wait))
	s.fd = int32(fd)
	s.up = rsrcUpdate{offset: uint32(index), data: uint64(uintptr(unsafe.Pointer(&s.fd)))}
	_, errno := r.register(registerFilesUpdate, unsafe.Pointer(&s.up), 1)
	return r.failed(remedy.UringFiles, fmt.Sprintf("update file %d", index), errno, 0)
}

// UnregisterFiles undoes RegisterFiles; ENXIO when there are none.
func (r *Ring) UnregisterFiles() error {
	_, errno := r.register(unregisterFiles, nil, 0)
	if errno == 0 {
		r.files = false
	}
	return r.failed(remedy.UringFiles, "unregister files", errno, 0)
}
