// SPDX-License-Identifier: MIT

package veth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// ownerEnv makes this test binary a process that owns a pair.
const ownerEnv = "ZCBENCH_TEST_OWN_A_PAIR"

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		p, err := New(Options{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.SUT.Netns.Path())
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
}

func newPair(t *testing.T, o Options) *Pair {
	t.Helper()
	needRoot(t)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// ownLinks are the caller's interfaces and named namespaces.
func ownLinks(t *testing.T) []string {
	t.Helper()
	var out []string
	is, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range is {
		out = append(out, i.Name)
	}
	named, _ := os.ReadDir("/run/netns")
	for _, e := range named {
		if !strings.HasPrefix(e.Name(), "zcbench-test-") { // of package host's tests, which run beside
			out = append(out, "netns "+e.Name())
		}
	}
	slices.Sort(out)
	return out
}

func TestIntegrationPairCarriesTCP(t *testing.T) {
	p := newPair(t, Options{})
	for _, ip := range []net.IP{p.SUT.IPv4, p.SUT.IPv6} {
		if ip == nil {
			t.Log("this kernel has no IPv6")
			continue
		}
		var l net.Listener
		if err := p.SUT.Netns.Do(func() (err error) {
			l, err = net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				io.WriteString(c, c.RemoteAddr().(*net.TCPAddr).IP.String())
				c.Close()
			}
		}()
		if c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
			c.Close()
			t.Errorf("%v can be reached from the caller's own namespace", ip)
		}
		var c net.Conn
		if err := p.TG.Netns.Do(func() (err error) {
			c,
				err = net.Dial("tcp", l.Addr().String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		from, err := io.ReadAll(c)
		if err != nil || !slices.ContainsFunc([]net.IP{p.TG.IPv4, p.TG.IPv6},
			func(ip net.IP) bool { return ip.String() == string(from) }) {
			t.Errorf("the flow came from %q, %v", from, err)
		}
	}
}

func TestIntegrationPairOptions(t *testing.T) {
	for _, x := range []struct{ asked, mtu, buf int }{{0, DefaultMTU, 512 << 20}, {1500, 1500, 8 << 20},
		{9000, 9000, 0}} {
		o := Options{MTU: x.asked}
		if x.asked != 0 {
			o.TCPBufMax = x.buf
		}
		if x.buf == 0 {
			x.buf = 512 << 20
		}
		p := newPair(t, o)
		for _, e := range []End{p.SUT, p.TG} {
			err := e.Netns.Do(func() error {
				l, err := rtnl.LinkNamed(e.Dev)
				if err != nil {
					return err
				}
				if l.MTU != x.mtu || l.Flags&unix.IFF_UP == 0 {
					t.Errorf("%s: MTU %d, flags %#x; want %d and up", e.Dev, l.MTU, l.Flags, x.mtu)
				}
				if lo, err := rtnl.LinkNamed("lo"); err != nil || lo.Flags&unix.IFF_UP == 0 {
					t.Errorf("loopback of %s is not up (%v)", e.Dev, err)
				}
				for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
					b, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
					if f := strings.Fields(string(b)); err != nil || len(f) != 3 || f[2] != fmt.Sprint(x.buf) {
						t.Errorf("%s of %s: %q (%v), want a maximum of %d", name, e.Dev, b, err, x.buf)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestIntegrationPairBadMTU(t *testing.T) {
	needRoot(t)
	before := ownLinks(t)
	p, err := New(Options{MTU: 70000})
	if err == nil {
		p.Close()
		t.Fatal("MTU 70000 was taken")
	}
	if !strings.Contains(err.Error(), "70000") {
		t.Errorf("the error does not name the MTU: %v", err)
	}
	if after := ownLinks(t); !slices.Equal(before, after) {
		t.Errorf("left behind: %v, before %v", after, before)
	}
}

func TestIntegrationPairIsInvisible(t *testing.T) {
	needRoot(t)
	before := ownLinks(t)
	p := newPair(t, Options{})
	if during := ownLinks(t); !slices.Equal(before, during) {
		t.Errorf("the caller's namespace changed: %v, before %v", during, before)
	}
	for range 20 {
		if err := p.TG.Netns.Do(func() error { return errors.New("x") }); err == nil || err.Error() != "x" {
			t.Fatalf("Do returned %v", err)
		}
	}
	var own, main unix.Stat_t
	for path, st := range map[string]*unix.Stat_t{"/proc/thread-self/ns/net": &own, "/proc/self/ns/net": &main} {
		if err := unix.Stat(path, st); err != nil {
			t.Fatal(err)
		}
	}
	if own.Ino != main.Ino {
		t.Error("the main thread was left in another namespace")
	}
}

// witness is a link in a namespace of the test whose peer is in ns: it goes when
// ns goes.
type witness struct {
	t  *testing.T
	ns *Netns
}

func watch(t *testing.T, path string) *witness {
	t.Helper()
	w := &witness{t: t}
	var err error
	if w.ns, err = NewNetns(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.ns.Close() })
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := w.ns.Do(func() error { return addVeth("witness", "watched", int(f.Fd()), 1500) }); err != nil {
		t.Fatal(err)
	}
	if w.gone() {
		t.Fatal("the witness is gone before the pair is")
	}
	return w
}

func (w *witness) gone() bool {
	err := w.ns.Do(func() error { _, err := rtnl.LinkNamed("witness"); return err })
	return errors.Is(err, unix.ENODEV)
}

func (w *witness) mustGo(when string) {
	w.t.Helper()
	if !await.So(w.gone) {
		w.t.Errorf("the namespace still lives %v after %s", await.Hang, when)
	}
}

func TestIntegrationPairGoneAfterClose(t *testing.T) {
	for range 5 {
		p := newPair(t, Options{})
		w := watch(t, p.TG.Netns.Path())
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		w.mustGo("Close")
		if err := p.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

func TestIntegrationPairGoneAfterKill(t *testing.T) {
	needRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), ownerEnv+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	path, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, strings.TrimSpace(path))
	cmd.Process.Kill()
	cmd.Wait()
	w.mustGo("kill -9 of its owner")
}

// Threads that entered a namespace end with their work, also when that would
// have been the process's main thread, which cannot end.
func TestIntegrationNetnsKeepsNoThread(t *testing.T) {
	needRoot(t)
	for range 50 {
		n, err := NewNetns()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Do(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		n.Close()
	}
	home := nsOf(t, "/proc/self/ns/net")
	var strays []string
	if !await.So(func() bool {
		strays = nil
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			link, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
			if err == nil && link != home {
				strays = append(strays, task.Name()+" in "+link)
			}
		}
		return len(strays) == 0
	}) {
		t.Fatalf("threads of process %d not in %s: %v", os.Getpid(), home, strays)
	}
}

func nsOf(t *testing.T, path string) string {
	t.Helper()
	s, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A new pair passes packets at once, also on a machine whose CPUs and lock of links are busy: the
// receiver's answer to the first question for its address is not lost, so there is no second one.
func TestPassesAtOnce(t *testing.T) {
	needRoot(t)
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- others(stop) }()
	lost, pairs := 0, long.Rounds(40, 200)
	for range pairs {
		p := newPair(t, Options{})
		if n := questions(t, p); n != 1 {
			t.Logf("%d questions for the receiver's address", n)
			lost++
		}
		p.Close()
	}
	close(stop)
	if err := await.Chan(t, "the end of the others", done); err != nil {
		t.Error(err)
	}
	if lost > 0 {
		t.Errorf("of %d pairs %d lost the first answer", pairs, lost)
	}
}

// others makes pairs until it is stopped.
func others(stop chan struct{}) error {
	for {
		p, err := New(Options{})
		if err == nil {
			err = p.Close()
		}
		select {
		case <-stop:
			return err
		default:
		}
	}
}

// questions is how often a new pair's sender asks for the receiver's address before its first
// packet comes.
func questions(t *testing.T, p *Pair) (n int) {
	t.Helper()
	arp, rx, tx := -1, (*net.UDPConn)(nil), net.Conn(nil)
	err := errors.Join(p.SUT.Netns.Do(func() (err error) {
		const ofARP = unix.ETH_P_ARP<<8&0xff00 | unix.ETH_P_ARP>>8 // big endian
		if arp, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK,
			ofARP); err == nil {
			rx, err = net.ListenUDP("udp4", &net.UDPAddr{IP: p.SUT.IPv4, Port: 7})
		}
		return err
	}), p.TG.Netns.Do(func() (err error) {
		tx, err = net.Dial("udp4", net.JoinHostPort(p.SUT.IPv4.String(), "7"))
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(arp)
	defer rx.Close()
	defer tx.Close()
	if err := rx.SetReadDeadline(await.Deadline()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 1500)
	if _, err := rx.Read(frame); err != nil {
		t.Fatal(err)
	}
	for {
		got, _, err := unix.Recvfrom(arp, frame, 0)
		switch {
		case err == unix.EAGAIN:
			return n
		case err != nil && err != unix.EINTR:
			t.Fatal(err)
		case got >= 22 && frame[21] == 1: // ARPOP_REQUEST
			n++
		}
	}
}
