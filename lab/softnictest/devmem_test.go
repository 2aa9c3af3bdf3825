// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Generic netlink family netdev, include/uapi/linux/netdev.h, and devmem's
// socket interface, Documentation/networking/devmem.rst.
const (
	cmdBindRX = 13 // NETDEV_CMD_BIND_RX

	aDmabufIfindex = 1
	aDmabufQueues  = 2
	aDmabufFD      = 3
	aQueueID       = 1
	aQueueType     = 3

	udmabufCreate = 0x40187542 // UDMABUF_CREATE, include/uapi/linux/udmabuf.h

	msgSockDevmem     = 0x2000000
	scmDevmemLinear   = 78
	scmDevmemDmabuf   = 79
	soDevmemDontneed  = 80
	dontneedMaxTokens = 128
)

// udmabuf is memory of this process that a device can be bound to.
type udmabuf struct {
	fd  int
	mem []byte
}

func newUdmabuf(t testing.TB, size int) *udmabuf {
	t.Helper()
	mfd, err := unix.MemfdCreate("udmabuf", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatalf("memfd_create: %v", err)
	}
	defer unix.Close(mfd)
	if err := unix.Ftruncate(mfd, int64(size)); err != nil {
		t.Fatalf("ftruncate: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(mfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatalf("seal: %v", err)
	}
	dev, err := os.OpenFile("/dev/udmabuf", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	arg := make([]byte, 24) // struct udmabuf_create: memfd, flags, offset, size
	binary.NativeEndian.PutUint32(arg, uint32(mfd))
	binary.NativeEndian.PutUint32(arg[4:], 1) // UDMABUF_FLAGS_CLOEXEC
	binary.NativeEndian.PutUint64(arg[16:], uint64(size))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, dev.Fd(), udmabufCreate, reflect.ValueOf(arg).Pointer())
	if errno != 0 {
		t.Fatalf("UDMABUF_CREATE: %v", errno)
	}
	u := &udmabuf{fd: int(fd)}
	t.Cleanup(func() { unix.Close(u.fd) })
	if u.mem, err = unix.Mmap(mfd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatalf("mmap: %v", err)
	}
	t.Cleanup(func() { unix.Munmap(u.mem) })
	return u
}

// bindRX binds a receive queue to the memory. The binding ends with Close.
func bindRX(t testing.TB, u *udmabuf, queue uint32) (io.Closer, error) {
	t.Helper()
	type result struct {
		c   *genetlink.Conn
		err error
	}
	r := in(t, rx.NS, func() (result, error) {
		ifi, err := net.InterfaceByName(rx.Dev)
		if err != nil {
			return result{}, err
		}
		c, err := genetlink.Dial(nil)
		if err != nil {
			return result{}, err
		}
		_, err = genlOn(c, "netdev", cmdBindRX, 0, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(aDmabufIfindex, uint32(ifi.Index))
			ae.Uint32(aDmabufFD, uint32(u.fd))
			ae.Nested(aDmabufQueues, func(q *netlink.AttributeEncoder) error {
				q.Uint32(aQueueID, queue)
				q.Uint32(aQueueType, 0)
				return nil
			})
		})
		if err != nil {
			c.Close()
		}
		return result{c, err}, nil
	})
	return r.c, r.err
}

func mustBind(t testing.TB, u *udmabuf, queue uint32) io.Closer {
	t.Helper()
	c, err := bindRX(t, u, queue)
	if err != nil {
		t.Fatalf("bind queue %d: %v", queue, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// received is what a devmem receiver got: the bytes in order, and how many of
// them were in the dmabuf and in the linear part.
type received struct {
	data           []byte
	dmabuf, linear int
}

// recvDevmem reads the connection to its end. About n bytes are expected.
func recvDevmem(c *net.TCPConn, u *udmabuf, n int) (r received, err error) {
	r.data = make([]byte, 0, n)
	raw, err := c.SyscallConn()
	if err != nil {
		return r, err
	}
	buf, oob := make([]byte, 256<<10), make([]byte, 64<<10)
	for {
		var n, oobn int
		var rerr error
		err := raw.Read(func(fd uintptr) bool {
			n, oobn, _, _, rerr = unix.Recvmsg(int(fd), buf, oob, msgSockDevmem)
			return rerr != unix.EAGAIN
		})
		if err := errors.Join(err, rerr); err != nil {
			return r, fmt.Errorf("recvmsg after %d bytes: %w", len(r.data), err)
		}
		if n == 0 && oobn == 0 {
			return r, nil
		}
		tokens, err := r.take(u, buf[:n], oob[:oobn])
		if err == nil {
			err = giveBack(raw, tokens)
		}
		if err != nil {
			return r, err
		}
	}
}

// take appends what one recvmsg returned and returns the tokens to give back.
func (r *received) take(u *udmabuf, buf, oob []byte) (tokens []byte, err error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	if len(msgs) == 0 { // ordinary bytes: the flow came by another queue
		r.data = append(r.data, buf...)
		return nil, nil
	}
	for _, m := range msgs {
		// struct dmabuf_cmsg: frag_offset, frag_size, frag_token, dmabuf_id, flags
		off := binary.NativeEndian.Uint64(m.Data)
		size := uint64(binary.NativeEndian.Uint32(m.Data[8:]))
		switch m.Header.Type {
		case scmDevmemDmabuf:
			r.data = append(r.data, u.mem[off:off+size]...)
			r.dmabuf += int(size)
			tokens = append(tokens, m.Data[12:16]...)            // token_start
			tokens = binary.NativeEndian.AppendUint32(tokens, 1) // token_count
		case scmDevmemLinear:
			r.data = append(r.data, buf[:size]...)
			buf = buf[size:]
			r.linear += int(size)
		}
	}
	return tokens, nil
}

// giveBack frees the fragments, so many tokens of 8 bytes at a time as the
// kernel takes.
func giveBack(raw interface{ Control(func(uintptr)) error }, tokens []byte) error {
	for len(tokens) > 0 {
		n := min(len(tokens), 8*dontneedMaxTokens)
		var serr error
		err := raw.Control(func(fd uintptr) {
			serr = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, soDevmemDontneed, string(tokens[:n]))
		})
		if err := errors.Join(err, serr); err != nil {
			return fmt.Errorf("SO_DEVMEM_DONTNEED: %w", err)
		}
		tokens = tokens[n:]
	}
	return nil
}

// devmemTransfer sends n bytes to a devmem receiver.
func devmemTransfer(t *testing.T, f family, port uint16, u *udmabuf, n int) received {
	t.Helper()
	l := listen(t, f, port)
	data := payload(n)
	c := dial(t, l)
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.SetDeadline(await.Deadline())
	sent := send(c, data)
	r, err := recvDevmem(a.(*net.TCPConn), u, n)
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.data, data) {
		t.Fatalf("received %d bytes that are not the %d sent", len(r.data), n)
	}
	return r
}

const devmemSize = 16 << 20

// Payload lands in the bound memory: what the socket says, what the memory
// holds and what the hardware counted agree.
func TestDevmemBind(t *testing.T) {
	needLab(t)
	for _, inline := range []string{"N", "Y"} {
		for _, gro := range []bool{false, true} {
			t.Run(fmt.Sprintf("inline=%s/hwgro=%v", inline, gro), func(t *testing.T) {
				param(t, "inline_dma", inline)
				hwGRO(t, gro)
				split(t, splitOn)
				u := newUdmabuf(t, devmemSize)
				mustBind(t, u, boundQueue)
				steer(t, rule{port: 5040, queue: boundQueue})
				c := count(t)
				const n = 8 << 20
				r := devmemTransfer(t, v4, 5040, u, n)
				if r.dmabuf != n || r.linear != 0 {
					t.Errorf("%d bytes in the dmabuf, %d linear, want %d and 0", r.dmabuf, r.linear, n)
				}
				if got := provider(c); got < n {
					t.Errorf("the hardware wrote %d bytes to provider memory, want %d", got, n)
				}
				if got := c.grown("rx3_kernel_bytes"); got != 0 {
					t.Errorf("the hardware wrote %d bytes of a bound queue to kernel pages", got)
				}
			})
		}
	}
}

// The control experiment: steered to another queue, everything is copied, the
// transfer still succeeds, and only the counters say so.
func TestDevmemWrongQueue(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	u := newUdmabuf(t, devmemSize)
	mustBind(t, u, boundQueue)
	steer(t, rule{port: 5041, queue: boundQueue - 1})
	c := count(t)
	r := devmemTransfer(t, v4, 5041, u, 1<<20)
	if got := provider(c); r.dmabuf != 0 || got != 0 {
		t.Errorf("%d bytes in the dmabuf, the hardware wrote %d to provider memory, want none", r.dmabuf, got)
	}
	if got := c.sum("kernel_bytes"); got < 1<<20 {
		t.Errorf("the hardware wrote %d bytes to kernel pages, want %d", got, 1<<20)
	}
}

// What is not TCP payload stays out of provider memory: ICMP and UDP to a host
// whose queues are all bound.
func TestDevmemOnlyTCPPayload(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	for q := range uint32(4) {
		mustBind(t, newUdmabuf(t, 4<<20), q)
	}
	server := in(t, rx.NS, func() (net.PacketConn, error) {
		return net.ListenPacket("udp", v4.addr().String()+
			":5042")
	})
	defer server.Close()
	client := in(t, tx.NS, func() (net.Conn, error) { return net.Dial("udp", server.LocalAddr().String()) })
	defer client.Close()
	c := count(t)
	data := payload(3000)
	if _, err := client.Write(data); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 9000)
	server.SetReadDeadline(await.Deadline())
	n, _, err := server.ReadFrom(got)
	if err != nil || !bytes.Equal(got[:n], data) {
		t.Fatalf("received %d bytes, %v", n, err)
	}
	if got := c.sum("provider_bytes"); got != 0 {
		t.Errorf("%d bytes of UDP went to provider memory", got)
	}
}

func TestDevmemRefusals(t *testing.T) {
	needLab(t)
	u := newUdmabuf(t, 1<<20)
	_, err := bindRX(t, u, boundQueue)
	if !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "tcp-data-split is disabled") {
		t.Errorf("bind without header split: %v", err)
	}
	split(t, splitOn)
	if _, err := bindRX(t, u, 4); err == nil {
		t.Error("bound a queue beyond the channels")
	}
	b := mustBind(t, u, boundQueue)
	if _, err := bindRX(t, u, boundQueue); err == nil {
		t.Error("bound a queue twice")
	}
	for name, f := range map[string]func() error{
		"header split off": func() error { return setRings(rx.Dev, rings{Split: splitOff}) },
		"a threshold":      func() error { return setThreshold(rx.Dev, 100) },
		"fewer channels":   func() error { return setChannels(rx.Dev, 2) },
	} {
		do(t, rx.NS, func() error {
			if f() == nil {
				t.Errorf("%s: accepted while a queue is bound", name)
			}
			return nil
		})
	}
	b.Close()
}

// A queue can be bound while the device is down, and a ring of 4 is enough.
func TestDevmemBindWhileDown(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	do(t, rx.NS, func() error { return setRings(rx.Dev, rings{RX: 4}) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRings(rx.Dev, rings{RX: 512}) }) })
	steer(t, rule{port: 5043, queue: boundQueue})
	setLink(t, false)
	u := newUdmabuf(t, devmemSize)
	mustBind(t, u, boundQueue)
	setLink(t, true)
	if r := devmemTransfer(t, v4, 5043, u, 1<<20); r.dmabuf != 1<<20 {
		t.Errorf("%d bytes in the dmabuf, want %d", r.dmabuf, 1<<20)
	}
}

// setLink takes the receiver's end down or brings it up with its IPv6 address,
// which going down removes.
func setLink(t testing.TB, up bool) {
	t.Helper()
	do(t, rx.NS, func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named(rx.Dev)
		if err != nil {
			return err
		}
		if err := c.SetUp(l.Index, up); err != nil || !up {
			return err
		}
		err = c.AddAddr(l.Index, netip.MustParsePrefix(rx.V6), unix.IFA_F_NODAD)
		if errors.Is(err, unix.EEXIST) { // it was kept
			err = nil
		}
		return err
	})
}
