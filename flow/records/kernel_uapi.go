// SPDX-License-Identifier: MIT

package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/tls.h, Linux 7.3.4.
const (
	tlsTX            = 1 // TLS_TX
	tlsRX            = 2 // TLS_RX
	tlsTXZeroCopy    = 3 // TLS_TX_ZEROCOPY_RO, 5.19
	tlsRXExpectNoPad = 4 // TLS_RX_EXPECT_NO_PAD, 6.0
	aesGCM128        = 51
	cryptoInfoBytes  = 40 // struct tls12_crypto_info_aes_gcm_128
)

// Kept is what the kernel made of the keys of a socket.
type Kept struct {
	Version  Version
	Device   bool // the NIC has them
	NoPad    bool // RX: records are opened straight into the reader's memory
	ZeroCopy bool // TX: sendfile hands pages to the NIC without a copy
}

// counting is for whoever reads the kernel's counts of sessions around a call.
var counting sync.Mutex

// Begin makes a connection one that keys may be given for, which the peer must not have ended yet.
// What it sends before it has them is plain.
func Begin(fd int) error {
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls"); err != nil &&
		!errors.Is(err, unix.EEXIST) { // it has it from the other direction
		return refused("TCP_ULP tls", fd, err)
	}
	return nil
}

// Give hands the key of the payload to the kernel: what the socket sends, or receives, from now on
// is in records. Of what was asked for the kernel may do less, and says so nowhere but in its
// counts of sessions, which are read before and after.
func Give(fd int, sends bool, how How, v Version, k *Key) (kept Kept, err error) {
	if err := Begin(fd); err != nil {
		return kept, err
	}
	kept.Version = v
	counting.Lock()
	defer counting.Unlock()
	before, _ := sessions(sends)
	info := k.info(v)
	name, opt := "TLS_RX", tlsRX
	if sends {
		name, opt = "TLS_TX", tlsTX
	}
	err = setsockopt(fd, opt, info[:])
	clear(info[:])
	if err != nil {
		return kept, refused(fmt.Sprintf("%s (%v, AES-GCM 128)", name, v), fd, err)
	}
	after, _ := sessions(sends)
	kept.Device = after > before
	one := [4]byte{}
	binary.NativeEndian.PutUint32(one[:], 1)
	switch {
	case !sends && v == TLS13: // a kernel before 6.0 opens records into memory of its own, and copies
		kept.NoPad = setsockopt(fd, tlsRXExpectNoPad, one[:]) == nil
	case sends && how == Device:
		kept.ZeroCopy = setsockopt(fd, tlsTXZeroCopy, one[:]) == nil
	}
	return kept, nil
}

// info makes the kernel's struct, with 0 as the number of the next record.
func (k *Key) info(v Version) (b [cryptoInfoBytes]byte) {
	binary.NativeEndian.PutUint16(b[:], uint16(v))
	binary.NativeEndian.PutUint16(b[2:], aesGCM128)
	copy(b[4:], k.iv[4:])
	copy(b[12:], k.key[:])
	copy(b[28:], k.iv[:4])
	return b
}

func setsockopt(fd, opt int, b []byte) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_TLS, uintptr(opt),
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func refused(what string, fd int, err error) error {
	return remedy.Error(remedy.SetTLS, "setsockopt "+what, err, remedy.On{FD: fd})
}

// statFile tells of the sessions of the thread's network namespace (net/tls/tls_proc.c). It is
// there when the kernel has the module.
const statFile = "/proc/thread-self/net/tls_stat"

// Loaded reports whether the kernel has kTLS now. To ask a socket for it would load the module.
func Loaded() bool {
	_, err := kernelfile.ReadFile(statFile)
	return err == nil
}

// KnowsZeroCopy asks the kernel's TLS whether it knows the option. It loads nothing: where that is
// not there, there is a doubt.
func KnowsZeroCopy() error { return knows("TLS_TX_ZEROCOPY_RO", tlsTXZeroCopy) }

// KnowsNoPad asks likewise.
func KnowsNoPad() error { return knows("TLS_RX_EXPECT_NO_PAD", tlsRXExpectNoPad) }

func knows(name string, opt int) error {
	if !Loaded() {
		return &fault.Doubt{Mode: "ktls", Why: "kTLS is not loaded: not tried",
			How: "to have it tried: modprobe tls, and ask again"}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = option(int(fd), name, opt) }); cerr != nil {
		return cerr
	}
	return err
}

// option sets an option of a socket without keys, which is EINVAL of one that needs them.
func option(fd int, name string, opt int) error {
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls"); err != nil {
		return refused("TCP_ULP tls", fd, err)
	}
	var one [4]byte
	binary.NativeEndian.PutUint32(one[:], 1)
	if err := setsockopt(fd, opt, one[:]); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("setsockopt %s: %w", name, err)
	}
	return nil
}

// sessions counts those that the NIC had taken.
func sessions(sends bool) (n uint64, err error) {
	b, err := kernelfile.ReadFile(statFile)
	if err != nil {
		return 0, err
	}
	name := "TlsRxDevice"
	if sends {
		name = "TlsTxDevice"
	}
	all, err := ParseStat(string(b))
	return all[name], err
}
