// SPDX-License-Identifier: MIT

package bpf_test

import (
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

const testPort = 7788

// sendUDP sends n datagrams; the receiver sleeps before it reads each.
func sendUDP(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration) {
	t.Helper()
	rx := in(t, p.SUT.Netns, func() (net.PacketConn, error) { return net.ListenPacket("udp", addr(ip, testPort)) })
	defer rx.Close()
	tx := in(t, p.TG.Netns, func() (net.Conn, error) { return net.Dial("udp", addr(ip, testPort)) })
	defer tx.Close()
	b := make([]byte, 2000)
	rx.SetReadDeadline(await.Deadline())
	for range n {
		if _, err := tx.Write(b[:100]); err != nil {
			t.Fatal(err)
		}
		await.Pause("the reader is late", sleep)
		if _, _, err := rx.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRequest returns when something waits in the socket.
func awaitRequest(t *testing.T, c syscall.Conn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err != nil || n > 0
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pingTCP sends n requests; each is answered after sleep.
func pingTCP(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration) {
	t.Helper()
	chat(t, p, ip, n, sleep, nil)
}

func chat(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration, stop func() bool) {
	t.Helper()
	ln := in(t, p.SUT.Netns, func() (net.Listener, error) { return net.Listen("tcp", addr(ip, testPort)) })
	defer ln.Close()
	go func() {
		var tx net.Conn
		if err := p.TG.Netns.Do(func() (err error) {
			tx,
				err = net.Dial("tcp", addr(ip, testPort))
			return err
		}); err != nil {
			ln.Close()
			return
		}
		defer tx.Close()
		b := make([]byte, 64)
		for range n {
			if _, err := tx.Write(b); err != nil {
				return
			}
			if _, err := io.ReadFull(tx, b); err != nil {
				return
			}
		}
	}()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(await.Deadline())
	b := make([]byte, 64)
	for range n {
		if stop != nil && stop() {
			return
		}
		if sleep > 0 { // from when something is there
			awaitRequest(t, c.(syscall.Conn))
			await.Pause("the reader is late", sleep)
		}
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

func families(p *veth.Pair) map[string]net.IP {
	m := map[string]net.IP{"ipv4": p.SUT.IPv4}
	if p.SUT.IPv6 != nil {
		m["ipv6"] = p.SUT.IPv6
	}
	return m
}

// packets is how many a test sends: few in the lab, which is emulated, unless there
// is time.
func packets(n, few int) int {
	if inLab() && !long.Wanted() {
		return few
	}
	return n
}

// bulk sends as fast as the SUT takes it, until stop, or until the test hangs.
func bulk(t testing.TB, p *veth.Pair) (stop func()) {
	t.Helper()
	rx, tx := connect(t, p)
	var done sync.WaitGroup
	done.Go(func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := tx.Write(b); err != nil {
				return
			}
		}
	})
	done.Go(func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := rx.Read(b); err != nil {
				return
			}
		}
	})
	return func() {
		tx.Close()
		rx.Close()
		done.Wait()
	}
}
