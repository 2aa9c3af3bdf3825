// SPDX-License-Identifier: MIT

package bpf_test

import (
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowPage is memory whose page is there only after a delay: whoever touches it
// first waits so long. It uses userfaultfd (include/uapi/linux/userfaultfd.h), of
// Linux 4.3.
type slowPage struct {
	mem     []byte
	fd      int
	touched chan struct{} // closed when somebody waits
}

// include/uapi/linux/userfaultfd.h
const (
	uffdAPI      = 0xc018aa3f // ioctl UFFDIO_API
	uffdRegister = 0xc020aa00 // ioctl UFFDIO_REGISTER
	uffdZeropage = 0xc020aa04 // ioctl UFFDIO_ZEROPAGE
)

const pageSize = 4096

func newSlowPage(delay time.Duration) (*slowPage, error) {
	mem, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		unix.Munmap(mem)
		return nil, fmt.Errorf("userfaultfd: %w", errno)
	}
	p := &slowPage{mem, int(fd), make(chan struct{})}
	at := uint64(uintptr(unsafe.Pointer(&mem[0])))
	for _, x := range []struct {
		op  uintptr
		arg [4]uint64
	}{{uffdAPI, [4]uint64{0xaa}}, {uffdRegister, [4]uint64{at, pageSize, 1}}} { // UFFDIO_REGISTER_MODE_MISSING
		if err := p.ioctl(x.op, &x.arg); err != nil {
			p.close()
			return nil, err
		}
	}
	go p.serve(at, delay)
	return p, nil
}

// serve gives the page to the first who waits for it.
func (p *slowPage) serve(at uint64, delay time.Duration) {
	msg := make([]byte, 32) // struct uffd_msg
	if n, err := unix.Read(p.fd, msg); err != nil || n < 32 ||
		binary.NativeEndian.Uint64(msg[16:])&^(pageSize-1) != at {
		return
	}
	close(p.touched)
	time.Sleep(delay)
	_ = p.ioctl(uffdZeropage, &[4]uint64{at, pageSize})
}

func (p *slowPage) ioctl(op uintptr, arg *[4]uint64) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.fd), op, uintptr(unsafe.Pointer(arg))); errno != 0 {
		return fmt.Errorf("userfaultfd ioctl %#x: %w", op, errno)
	}
	return nil
}

// close lets go of the page.
func (p *slowPage) close() {
	unix.Close(p.fd)
	unix.Munmap(p.mem)
}
