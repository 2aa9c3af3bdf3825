// SPDX-License-Identifier: MIT

package vfiouser

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// board is a device with one register of 8 bytes.
type board struct {
	sync.Mutex
	host     *Host
	register [8]byte
	resets   int
	config   int // writes into its configuration space
}

func (b *board) Attach(h *Host)                    { b.host = h }
func (b *board) Config() []byte                    { return []byte{0xe0, 0x1a, 0x42, 0} }
func (b *board) BARs() [6]uint64                   { return [6]uint64{8} }
func (b *board) Vectors() int                      { return 3 }
func (b *board) Read(_ int, off uint64, p []byte)  { copy(p, b.register[off:]) }
func (b *board) Write(_ int, off uint64, p []byte) { copy(b.register[off:], p) }
func (b *board) WriteConfig([]byte, int, []byte)   { b.config++ }
func (b *board) Reset()                            { b.resets++ }
func (b *board) bytes(addr, n uint64) (got []byte) {
	b.Lock()
	defer b.Unlock()
	return b.host.Bytes(addr, n)
}

// client is the other end.
type client struct {
	*testing.T
	conn *net.UnixConn
	id   uint16
	ends chan error // what Serve returned
}

func newClient(t *testing.T, d Device) *client {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var both [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		both[i] = c.(*net.UnixConn)
	}
	c := &client{T: t, conn: both[1], ends: make(chan error, 1)}
	go func() { c.ends <- Serve(both[0], d); both[0].Close() }()
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// end closes the connection and returns what the server said.
func (c *client) end() error {
	c.conn.Close()
	return <-c.ends
}

// send sends a command.
func (c *client) send(command uint16, data []byte, fds ...int) {
	c.Helper()
	c.id++
	b := make([]byte, headerBytes)
	le.PutUint16(b, c.id)
	le.PutUint16(b[2:], command)
	le.PutUint32(b[4:], uint32(headerBytes+len(data)))
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := c.conn.WriteMsgUnix(append(b, data...), oob, nil); err != nil {
		c.Fatal(err)
	}
}

// ask sends a command and returns the reply.
func (c *client) ask(command uint16, data []byte, fds ...int) ([]byte, unix.Errno) {
	c.Helper()
	c.send(command, data, fds...)
	var head [headerBytes]byte
	if _, err := readFull(c.conn, head[:]); err != nil {
		c.Fatal(err)
	}
	if got := le.Uint16(head[:]); got != c.id || le.Uint16(head[2:]) != command || head[8]&flagReply == 0 {
		c.Fatalf("reply to %d, command %d, flags %#x", got, le.Uint16(head[2:]), head[8])
	}
	p := make([]byte, le.Uint32(head[4:])-headerBytes)
	if _, err := readFull(c.conn, p); err != nil {
		c.Fatal(err)
	}
	return p, unix.Errno(le.Uint32(head[12:]))
}

// must is ask for what has to work.
func (c *client) must(command uint16, data []byte, fds ...int) []byte {
	c.Helper()
	p, errno := c.ask(command, data, fds...)
	if errno != 0 {
		c.Fatalf("command %d: %v", command, errno)
	}
	return p
}

func readFull(c *net.UnixConn, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k, err := c.Read(p[n:])
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (c *client) hello() { c.Helper(); c.must(cmdVersion, []byte{0, 0, 1, 0, '{', '}', 0}) }

func join64(head []byte, all ...uint64) []byte {
	for _, v := range all {
		head = le.AppendUint64(head, v)
	}
	return head
}

// guestMemory makes a file of the guest's memory.
func guestMemory(t *testing.T, size int64) int {
	t.Helper()
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// What QEMU asks at first, with the replies that it takes: hw/vfio-user of QEMU 11.1.
func TestAnswers(t *testing.T) {
	c := newClient(t, &board{})
	p := c.must(cmdVersion, append([]byte{0, 0, 1, 0}, "{\"capabilities\":{}}\x00"...))
	var said struct {
		Capabilities struct {
			FDs   int `json:"max_msg_fds"`
			Bytes int `json:"max_data_xfer_size"`
		}
	}
	if le.Uint32(p) != 1<<16 || p[len(p)-1] != 0 || json.Unmarshal(p[4:len(p)-1], &said) != nil ||
		said.Capabilities.FDs < 1 || said.Capabilities.FDs > 16 || said.Capabilities.Bytes < 4096 {
		t.Errorf("version: %q", p)
	}
	if p := c.must(cmdGetInfo, make([]byte, 16)); !bytes.Equal(p, words(16, 3, 9, 5)) {
		t.Errorf("device: %v", p)
	}
	for region, want := range map[uint32]uint64{0: 8, 1: 0, 5: 0, regionROM: 0, regionConfig: 256, 8: 0} {
		p := c.must(cmdRegionInfo, append(words(32, 0, region, 0), make([]byte, 16)...))
		if len(p) != 32 || le.Uint64(p[16:]) != want || (le.Uint32(p[4:]) == 3) != (want > 0) {
			t.Errorf("region %d: %v", region, p)
		}
	}
	for kind, want := range map[uint32]uint32{0: 0, 1: 0, irqMSIX: 3, 4: 0} {
		if p := c.must(cmdIRQInfo, words(16, 0, kind, 0)); le.Uint32(p[12:]) != want {
			t.Errorf("interrupts of kind %d: %v", kind, p)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// Registers are the device's; of the configuration space only the command register is kept.
func TestRegions(t *testing.T) {
	d := &board{}
	c := newClient(t, d)
	c.hello()
	at := func(region uint32, off uint64, n uint32) []byte { return append(join64(nil, off), words(region, n)...) }
	c.must(cmdWrite, append(at(0, 4, 4), "abcd"...))
	if p := c.must(cmdRead, at(0, 2, 6)); string(p[16:]) != "\x00\x00abcd" {
		t.Errorf("%q", p)
	}
	c.must(cmdWrite, append(at(regionConfig, 0, 8), "zzzz\x07\x05zz"...))
	if p := c.must(cmdRead, at(regionConfig, 0, 8)); string(p[16:]) != "\xe0\x1a\x42\x00\x07\x05\x00\x00" ||
		d.config != 1 {
		t.Errorf("%q, %d times", p[16:], d.config)
	}
	for _, bad := range [][]byte{at(0, 8, 1), at(0, 4, 5), at(0, ^uint64(0), 4), at(1, 0, 1), at(9, 0, 1),
		at(regionConfig, 253, 4), at(0, 0, ^uint32(0)), nil} {
		if _, errno := c.ask(cmdRead, bad); errno != unix.EINVAL {
			t.Errorf("%v: %v", bad, errno)
		}
	}
	if _, errno := c.ask(cmdWrite, append(at(0, 0, 4), "abc"...)); errno != unix.EINVAL {
		t.Errorf("less than it says: %v", errno)
	}
}

// The guest's memory is there as far as it was mapped with a descriptor, and until it is unmapped.
func TestMemory(t *testing.T) {
	d := &board{}
	c := newClient(t, d)
	c.hello()
	fd := guestMemory(t, 3*4096)
	dma := func(flags uint32, offset, addr, size uint64) []byte {
		return join64(words(32, flags), offset, addr, size)
	}
	c.must(cmdDMAMap, dma(3, 4096, 0x10000, 8192), fd)
	c.must(cmdDMAMap, dma(3, 0, 0x30000, 4096))     // without a descriptor
	c.must(cmdDMAMap, dma(1, 0, 0x40000, 4096), fd) // read only
	if _, err := unix.Pwrite(fd, []byte("page two"), 4096+4090); err != nil {
		t.Fatal(err)
	}
	if got := d.bytes(0x10000+4090, 8); string(got) != "page two" {
		t.Errorf("%q", got)
	}
	for _, x := range [][2]uint64{{0xffff, 2}, {0x10000, 8193}, {0x12000, 1}, {0x11fff, 2}, {0x30000, 1}, {0x40000, 1},
		{0x10001, ^uint64(0)}, {^uint64(0), 1}} {
		if got := d.bytes(x[0], x[1]); got != nil {
			t.Errorf("%#x, %d bytes: there are %d", x[0], x[1], len(got))
		}
	}
	for _, x := range []struct {
		data []byte
		want unix.Errno
	}{
		{dma(3, 0, 0x11000, 4096), unix.EEXIST},
		{dma(3, 8192, 0x80000, 8192), unix.EINVAL}, // behind the file's end
		{dma(3, 0, ^uint64(0)-4095, 8192), unix.EINVAL},
		{dma(3, 0, 0x80000, 0), unix.EINVAL},
		{dma(3, 1, 0x80000, 4096), unix.EINVAL},
	} {
		if _, errno := c.ask(cmdDMAMap, x.data, fd); errno != x.want {
			t.Errorf("%v: %v, want %v", x.data, errno, x.want)
		}
	}
	unmap := func(flags uint32, addr, size uint64) []byte { return join64(words(24, flags), addr, size) }
	if _, errno := c.ask(cmdDMAUnmap, unmap(0, 0x70000, 4096)); errno != unix.ENOENT {
		t.Errorf("unmapped what is not there: %v", errno)
	}
	c.must(cmdDMAUnmap, unmap(0, 0x10000, 8192))
	if d.bytes(0x10000, 1) != nil {
		t.Error("still there")
	}
	c.must(cmdDMAMap, dma(3, 0, 0x10000, 4096), fd)
	c.must(cmdDMAUnmap, unmap(2, 0, 0))
	if d.bytes(0x10000, 1) != nil || d.bytes(0x30000, 1) != nil {
		t.Error("not all are gone")
	}
}

// Vectors signal the eventfds that they were given, and no others.
func TestInterrupts(t *testing.T) {
	d := &board{}
	c := newClient(t, d)
	c.hello()
	var fds []int
	for range 2 {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	raised := func(i int) uint64 {
		d.Lock()
		d.host.Raise(i)
		d.Unlock()
		n := uint64(0)
		for _, fd := range fds {
			var b [8]byte
			if k, _ := unix.Read(fd, b[:]); k == 8 {
				n = n<<8 | le.Uint64(b[:])
			}
		}
		return n
	}
	set := func(flags, index, start, count uint32) []byte { return words(20, flags, index, start, count) }
	c.must(cmdSetIRQs, set(4|32, irqMSIX, 1, 2), fds...)
	for i, want := range map[int]uint64{-1: 0, 0: 0, 2: 1, 3: 0} {
		if got := raised(i); got != want {
			t.Errorf("vector %d: %#x, want %#x", i, got, want)
		}
	}
	c.must(cmdSetIRQs, set(4|32, irqMSIX, 2, 1)) // let go of one
	if raised(2) != 0 {
		t.Error("vector 2 is still there")
	}
	for _, bad := range [][]byte{set(4|32, irqMSIX, 2, 2), set(4|32, 0, 0, 1), set(4, irqMSIX, 0, 1),
		set(1|32, irqMSIX, 0, 1), set(4|32, irqMSIX, ^uint32(0), 2), nil} {
		if _, errno := c.ask(cmdSetIRQs, bad, fds...); errno != unix.EINVAL {
			t.Errorf("%v: %v", bad, errno)
		}
	}
	c.must(cmdSetIRQs, set(1|32, irqMSIX, 0, 0))
	if raised(1) != 0 {
		t.Error("vector 1 is still there")
	}
}

// A client that does not keep to the protocol is left; one that ends is no error. In both cases the
// device is reset, and its memory gone.
func TestEnds(t *testing.T) {
	for name, bad := range map[string]func(c *client){
		"no version":   func(c *client) { c.send(cmdGetInfo, make([]byte, 16)) },
		"a short head": func(c *client) { c.conn.Write([]byte{1, 0}); c.conn.CloseWrite() },
		"huge": func(c *client) {
			c.conn.Write(append(make([]byte, 4), 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0,
				0))
		},
		"tiny":    func(c *client) { c.conn.Write(append(make([]byte, 4), 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) },
		"a reply": func(c *client) { c.conn.Write(append(make([]byte, 4), 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := &board{}
			c := newClient(t, d)
			bad(c)
			if err := <-c.ends; err == nil || d.resets != 1 {
				t.Errorf("%v, %d resets", err, d.resets)
			}
		})
	}
	d := &board{}
	c := newClient(t, d)
	c.hello()
	c.must(cmdReset, nil)
	if _, errno := c.ask(14, nil); errno != unix.ENOTSUP {
		t.Errorf("a command of no kind: %v", errno)
	}
	c.must(cmdDMAMap, join64(words(32, 3), 0, 0, 4096), guestMemory(t, 4096))
	if err := c.end(); err != nil || d.resets != 2 || d.bytes(0, 1) != nil {
		t.Errorf("%v, %d resets", err, d.resets)
	}
}
