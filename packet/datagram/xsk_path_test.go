// SPDX-License-Identifier: MIT

package datagram

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/veth"
)

// over is a flow of datagrams of 64 bytes from one host to the other.
func over(t *testing.T, p *veth.Pair) (rx, tx *stream.Conn, h stream.Hello) {
	t.Helper()
	ctx := await.Context(t)
	cookie := stream.NewCookie()
	var port stream.Listener
	if err := p.SUT.Netns.Do(func() (err error) {
		port, err = Transport{}.Listen(p.SUT.IPv4.String()+":0", cookie, 1, sock.Options{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() })
	dialed := onThread(func() error {
		return p.TG.Netns.Do(func() (err error) {
			tx, _, err = Transport{}.Dial(ctx, port.Addr().String(), hello(cookie, 0, 1, 64), sock.Options{})
			return err
		})
	})
	if err := p.SUT.Netns.Do(func() (err error) {
		if rx, h, err = port.Accept(ctx); err != nil {
			return err
		}
		return rx.Welcome(stream.Welcome{})
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rx.Close() })
	if err := ended(t, dialed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Close() })
	return rx, tx, h
}

// withOptions sends a packet of a flow's hosts whose IPv4 header has four bytes of options: the
// flow's ports, which stand where UDP's header begins in a packet that has none.
func withOptions(c *stream.Conn) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, 20, 128)
	b[0], b[8], b[9] = 0x46, 64, unix.IPPROTO_UDP
	from, to := c.Local.Addr().As4(), c.Remote.Addr().As4()
	copy(b[12:], from[:])
	copy(b[16:], to[:])
	ports := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, c.Local.Port()), c.Remote.Port())
	b = append(append(b, ports...), ports...)
	b = append(b, make([]byte, 68)...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint16(b[28:], uint16(len(b)-24))
	return unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Addr: to})
}

// A receiver by AF_XDP gets the flow's datagrams alone: none whose IPv4 header has options, be they
// the flow's ports. And junk that does not cease, with the flow's address and ports, does not hide
// the end from it.
func TestIntegrationXSKReceiver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	p, err := veth.New(veth.Options{MTU: 1500})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rx, tx, h := over(t, p)
	r, err := newXSKReceiver(stream.Options{MessageBytes: 64, NIC: stream.NICQueue{Dev: p.SUT.Dev}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := p.SUT.Netns.Do(func() error { return r.Attach(rx, h) }); err != nil {
		t.Fatal(err)
	}
	var m stream.Meter
	done := onThread(func() error { return r.Receive(rx, &m) })
	b := make([]byte, 64)
	for seq := range uint64(4) {
		put(b, tx.Key, seq)
		_, errno := sock.Send(tx.FD, b, 0)
		if errno == unix.EPROTO { // the stack got the options, and said that they are wrong
			_, errno = sock.Send(tx.FD, b, 0)
		}
		if errno != 0 {
			t.Fatal(errno)
		}
		if seq == 2 { // the last comes behind it
			if err := p.TG.Netns.Do(func() error { return withOptions(tx) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	await.Until(t, "all of the flow come", func() bool { return m.Snapshot().Packets == 4 })
	if n := m.Snapshot().Corrupted; n != 0 {
		t.Errorf("%d packets with options were taken for the flow's", n)
	}
	put(b, tx.Key+1, 7)
	stop := junk(t, tx.FD, func() []byte { return b })
	await.Until(t, "junk comes", func() bool { return m.Snapshot().Corrupted > 0 })
	tx.Sent = 5 // one was lost
	if err := tx.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	err = ended(t, done)
	stop()
	if c := m.Snapshot(); err != nil || c.Packets != 4 || c.Corrupted == 0 {
		t.Errorf("%v, %+v", err, c)
	}
}
