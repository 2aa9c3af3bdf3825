// SPDX-License-Identifier: MIT

package softnictest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// The tests whose names begin with TestLabImitated are of the ways of other drivers, as seen from
// outside: zcbench lab exec --nic NAME.

// imitates returns the driver that the soft NIC imitates, "" for none, and skips the test where it
// is none of those named.
func imitates(t testing.TB, names ...string) string {
	t.Helper()
	needLab(t)
	b, err := os.ReadFile("/sys/module/softnic/parameters/imitate")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSpace(string(b))
	if len(names) > 0 && !slices.Contains(names, name) {
		t.Skipf("it is about %q of what the soft NIC imitates, which is %q here", names, name)
	}
	return name
}

// errnos calls functions of the receiver's namespace and compares what they fail with.
func errnos(t *testing.T, calls map[string]func() error, want map[string]error) {
	t.Helper()
	do(t, rx.NS, func() error {
		for name, f := range calls {
			if err := f(); !errors.Is(err, want[name]) || want[name] == nil && err != nil {
				t.Errorf("%s: %v, want %v", name, err, want[name])
			}
		}
		return nil
	})
}

// carrier reports whether the receiver has one.
func carrier(t testing.TB) bool {
	t.Helper()
	l := in(t, rx.NS, func() (rtnl.Link, error) { return rtnl.LinkNamed(rx.Dev) })
	return l.Flags&unix.IFF_LOWER_UP != 0
}

func awaitCarrier(t testing.TB) {
	t.Helper()
	await.Until(t, rx.Dev+" has a carrier", func() bool { return carrier(t) })
}

// Commands and attributes of the generic netlink family netdev, include/uapi/linux/netdev.h.
const (
	cmdPoolGet  = 5  // NETDEV_CMD_PAGE_POOL_GET
	cmdQueueGet = 10 // NETDEV_CMD_QUEUE_GET

	aPoolIfindex  = 2
	aPoolNAPI     = 3
	aPoolInflight = 4
	aPoolDetached = 6
	aPoolDmabuf   = 7

	aQueueIfindex = 2
	aQueueNAPI    = 4
)

// pool is what the kernel tells of a page pool of the receiver that is in use.
type pool struct {
	napi, dmabuf, inflight uint64
}

func pools(t testing.TB) (all []pool) {
	t.Helper()
	return in(t, rx.NS, func() ([]pool, error) {
		l, err := rtnl.LinkNamed(rx.Dev)
		if err != nil {
			return nil, err
		}
		msgs, err := genl("netdev", cmdPoolGet, netlink.Dump, nil)
		for _, m := range msgs {
			ad, derr := netlink.NewAttributeDecoder(m.Data)
			if derr != nil {
				return nil, derr
			}
			var p pool
			mine := false
			for ad.Next() {
				switch ad.Type() {
				case aPoolIfindex:
					mine = ad.Uint32() == uint32(l.Index)
				case aPoolNAPI:
					p.napi = number(ad)
				case aPoolInflight:
					p.inflight = number(ad)
				case aPoolDmabuf:
					p.dmabuf = number(ad)
				case aPoolDetached:
					p = pool{}
					mine = false
				}
			}
			if mine {
				all = append(all, p)
			}
			err = errors.Join(err, ad.Err())
		}
		return all, err
	})
}

// number decodes a netlink "uint": four bytes, or eight.
func number(ad *netlink.AttributeDecoder) uint64 {
	b := ad.Bytes()
	if len(b) == 4 {
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// queueNAPIs are the NAPI instances that the kernel knows to serve the receiver's RX queues; 0:
// none.
func queueNAPIs(t testing.TB) (napis []uint32) {
	t.Helper()
	return in(t, rx.NS, func() ([]uint32, error) {
		l, err := rtnl.LinkNamed(rx.Dev)
		if err != nil {
			return nil, err
		}
		msgs, err := genl("netdev", cmdQueueGet, netlink.Dump, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(aQueueIfindex, uint32(l.Index))
		})
		for _, m := range msgs {
			ad, derr := netlink.NewAttributeDecoder(m.Data)
			if derr != nil {
				return nil, derr
			}
			var kind, napi uint32
			for ad.Next() {
				switch ad.Type() {
				case aQueueType:
					kind = ad.Uint32()
				case aQueueNAPI:
					napi = ad.Uint32()
				}
			}
			if kind == 0 { // NETDEV_QUEUE_TYPE_RX
				napis = append(napis, napi)
			}
			err = errors.Join(err, ad.Err())
		}
		return napis, err
	})
}

// incomingNAPI is the NAPI instance that the connection's last packet came by.
func incomingNAPI(t testing.TB, c net.Conn) (id int) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	cerr := raw.Control(func(fd uintptr) {
		id, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	})
	if err := errors.Join(cerr, err); err != nil {
		t.Fatal(err)
	}
	return id
}

// Queues without a NAPI, as drivers have them that do not call netif_queue_set_napi: only the
// packets still tell its number.
func TestLabImitatedNoNAPI(t *testing.T) {
	imitates(t)
	t.Cleanup(func() { reopen(t) }) // once the parameter is what it was: see below
	param(t, "no_napi", "Y")
	reopen(t)
	if got := queueNAPIs(t); len(got) == 0 || slices.ContainsFunc(got, func(id uint32) bool { return id != 0 }) {
		t.Errorf("the kernel tells NAPI instances %v of the RX queues", got)
	}
	l := listen(t, v4, 5080)
	c := dial(t, l)
	r, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if id := incomingNAPI(t, r); id == 0 {
		t.Error("SO_INCOMING_NAPI_ID is 0")
	}
	param(t, "no_napi", "N")
	reopen(t)
	if got := queueNAPIs(t); slices.Contains(got, 0) {
		t.Errorf("without the parameter: %v", got)
	}
}

// reopen opens all queues of the receiver anew.
func reopen(t testing.TB) {
	t.Helper()
	setLink(t, false)
	setLink(t, true)
	awaitCarrier(t)
}

// Two queues share a NAPI instance each: the kernel tells it of both and of their page pools, their
// packets have its number, and one of them does not restart without the other.
func TestLabImitatedSharedNAPI(t *testing.T) {
	m := imitates(t)
	t.Cleanup(func() { reopen(t) }) // once the parameter is what it was
	param(t, "napis", "2")
	reopen(t)
	q := sharing(t)
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	l := listen(t, v4, 5084)
	for queue := range uint32(4) {
		do(t, rx.NS, func() error { return setRSS(rx.Dev, queue) })
		arrives(t, l, queue, q[queue])
	}
	if slices.Contains([]string{"virtio-like", "ice", "gve-old", "bnxt-old"}, m) {
		t.Logf("%s: a queue cannot be given memory", m)
	} else {
		sharersRestart(t, m, l)
	}
	param(t, "napis", "0")
	reopen(t)
	if q = queueNAPIs(t); len(q) != 4 || len(slices.Compact(slices.Sorted(slices.Values(q)))) != 4 {
		t.Errorf("without the parameter: %v", q)
	}
}

// sharing are the NAPI instances of the four RX queues, of which each second one has the same, and
// so have their page pools.
func sharing(t *testing.T) []uint32 {
	t.Helper()
	q := queueNAPIs(t)
	if len(q) != 4 || q[0] == 0 || q[1] == 0 || q[0] == q[1] || q[2] != q[0] || q[3] != q[1] {
		t.Fatalf("the RX queues' NAPI instances are %v", q)
	}
	had := map[uint64]int{}
	for _, p := range pools(t) {
		had[p.napi]++
	}
	if len(had) != 2 || had[uint64(q[0])] != had[uint64(q[1])] || had[uint64(q[0])] < 2 {
		t.Errorf("page pools of NAPI instances %v, of RX queues %v", had, q)
	}
	return q
}

// arrives transfers to the listener by a queue, whose NAPI instance the socket must name.
func arrives(t *testing.T, l net.Listener, queue, napi uint32) {
	t.Helper()
	before := count(t)
	transfer(t, l, 4<<20)
	if n := before.grown(fmt.Sprintf("rx%d_bytes", queue)); n < 4<<20 {
		t.Errorf("queue %d: %d bytes came by it", queue, n)
	}
	c := dial(t, l)
	r, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err = c.Write([]byte("x")); err == nil {
		_, err = r.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if id := incomingNAPI(t, r); id != int(napi) {
		t.Errorf("queue %d: SO_INCOMING_NAPI_ID is %d, want %d", queue, id, napi)
	}
}

// sharersRestart gives queue 3 other memory: queue 1 rests with it (with gve all do), and goes on.
func sharersRestart(t *testing.T, m string, l net.Listener) {
	t.Helper()
	if m == "mlx5" {
		hwGRO(t, true) // split depends on it
	}
	split(t, splitOn)
	thresholdZero(t)
	awaitCarrier(t)
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 1) })
	rests := func(what string, c *counters) {
		t.Helper()
		awaitCarrier(t)
		for queue, want := range []uint64{0, 1, 0, 1} {
			if m == "gve" {
				want = 1
			}
			stops, starts := c.grown(fmt.Sprintf("rx%d_stops", queue)), c.grown(fmt.Sprintf("rx%d_starts", queue))
			if stops != want || starts != want {
				t.Errorf("%s: queue %d stopped %d times, started %d times, want %d", what, queue, stops, starts, want)
			}
		}
	}
	c := count(t)
	b := mustBind(t, newUdmabuf(t, devmemSize), boundQueue)
	rests("bound", c)
	arrives(t, l, 1, sharing(t)[1])
	c = count(t)
	b.Close()
	rests("let go", c)
	q := sharing(t)
	for _, queue := range []uint32{1, 3} {
		do(t, rx.NS, func() error { return setRSS(rx.Dev, queue) })
		arrives(t, l, queue, q[queue])
	}
}

// Packets that the hardware cannot split come as they are from the kernel's own pages: all that was
// sent arrives, and they are counted.
func TestLabImitatedUnsplit(t *testing.T) {
	m := imitates(t)
	if m == "virtio-like" {
		t.Skip("it cannot split headers")
	}
	param(t, "unsplit", "20")
	if m == "mlx5" {
		hwGRO(t, true) // split depends on it
	}
	split(t, splitOn)
	awaitCarrier(t)
	c := count(t)
	transfer(t, listen(t, v4, 5081), 4<<20)
	if got, split := c.sum("unsplit"), c.sum("split_packets"); got == 0 || split < 10*got {
		t.Errorf("%d packets were not split, %d were", got, split)
	}
	if m == "idpf" && c.grown("rx-hsplit_hbo") != c.sum("unsplit") {
		t.Errorf("rx-hsplit_hbo grew by %d", c.grown("rx-hsplit_hbo"))
	}
}

// In memory of a provider their headers cannot be read: they are lost, and TCP sends them once
// more.
func TestLabImitatedUnsplitLost(t *testing.T) {
	imitates(t, "", "idpf")
	split(t, splitOn)
	awaitCarrier(t)
	u := newUdmabuf(t, devmemSize)
	mustBind(t, u, boundQueue)
	place := uint32(3)
	do(t, rx.NS, func() error {
		_, err := rule{port: 5082, queue: boundQueue}.insertAt(rx.Dev, place)
		return err
	})
	t.Cleanup(func() { do(t, rx.NS, func() error { return deleteRule(rx.Dev, place) }) })
	param(t, "unsplit", "100")
	c := count(t)
	const n = 2 << 20
	r := devmemTransfer(t, v4, 5082, u, n)
	if r.dmabuf != n || r.linear != 0 {
		t.Errorf("%d bytes in the dmabuf, %d linear, want %d and 0", r.dmabuf, r.linear, n)
	}
	name := fmt.Sprintf("rx%d_unsplit", boundQueue)
	lost, wrote := c.grown(name), c.grown(fmt.Sprintf("rx%d_provider_bytes", boundQueue))
	t.Logf("%d packets lost, %d bytes written for %d", lost, wrote, n)
	if lost == 0 || wrote <= n {
		t.Errorf("%s grew by %d, the hardware wrote %d bytes for %d", name, lost, wrote, n)
	}
}

// Reading a rule back fails as often as is asked for, and then does not: a driver in a reset.
func TestLabImitatedRuleBusy(t *testing.T) {
	imitates(t, "", "idpf")
	const place = 4
	do(t, rx.NS, func() error {
		_, err := rule{port: 5083, queue: 1}.insertAt(rx.Dev, place)
		return err
	})
	t.Cleanup(func() { do(t, rx.NS, func() error { return deleteRule(rx.Dev, place) }) })
	param(t, "rule_busy", "2")
	do(t, rx.NS, func() error {
		for i, want := range []error{unix.EBUSY, unix.EBUSY, nil} {
			if _, err := readRule(rx.Dev, place); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("read %d: %v, want %v", i, err, want)
			}
			if all, _, err := rules(rx.Dev); !slices.Equal(all, []uint32{place}) || err != nil {
				t.Errorf("rules at %v, %v", all, err)
			}
		}
		return nil
	})
}
