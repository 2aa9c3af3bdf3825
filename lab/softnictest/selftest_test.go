// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// The kernel's own selftest programs, tools/testing/selftests/drivers/net/hw of
// the kernel's source: evidence from outside for the soft NIC. SelftestEnv names
// the folder that holds them; make lab-selftests builds them and runs this.
const SelftestEnv = "ZCBENCH_LAB_SELFTESTS"

// boundQueue is the queue the selftests use: the last, as they do themselves.
const boundQueue = 3

func selftest(t *testing.T, name string) string {
	t.Helper()
	needLab(t)
	dir := os.Getenv(SelftestEnv)
	if dir == "" {
		t.Skip(SelftestEnv + " is not set: run make lab-selftests")
	}
	return filepath.Join(dir, name)
}

// prog is a program that runs in a namespace.
type prog struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan error
}

func start(t testing.TB, ns string, stdin io.Reader, args ...string) *prog {
	t.Helper()
	p := &prog{t: t, cmd: exec.CommandContext(await.Context(t), args[0], args[1:]...), done: make(chan error, 1)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, &p.out, &p.out
	p.cmd.WaitDelay = time.Second
	do(t, ns, p.cmd.Start)
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// wait fails the test unless the program succeeds.
func (p *prog) wait() {
	p.t.Helper()
	if err := <-p.done; err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(p.cmd.Args, " "), err, p.out.Bytes())
	}
}

// waitListen waits until a TCP port is open at the receiver.
func waitListen(t testing.TB, port uint16, p *prog) {
	t.Helper()
	want := fmt.Sprintf(":%04X ", port)
	await.Until(t, fmt.Sprintf("somebody listens on port %d", port), func() bool {
		open := in(t, rx.NS, func() (bool, error) {
			for _, f := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
				b, err := os.ReadFile(f)
				if err != nil {
					return false, err
				}
				for line := range strings.Lines(string(b)) {
					// local address, remote address, state 0A: LISTEN
					if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1]+" ", want) {
						return true, nil
					}
				}
			}
			return false, nil
		})
		select {
		case err := <-p.done:
			p.done <- err
			if !open {
				t.Fatalf("%s ended: %v\n%s", p.cmd.Args[0], err, p.out.Bytes())
			}
		default:
		}
		return open
	})
}

func provider(c *counters) uint64 {
	return c.grown(fmt.Sprintf("rx%d_provider_bytes", boundQueue))
}

func TestSelftestZcrx(t *testing.T) {
	bin := selftest(t, "iou-zcrx")
	for i, tc := range []struct {
		name           string
		server, client []string
		rss            bool
		n              uint64
	}{
		{"single", nil, []string{"-l", "12840"}, false, 12840},
		{"rss", nil, []string{"-l", "12840"}, true, 12840},
		{"oneshot", []string{"-o", "4"}, []string{"-l", "4096", "-z", "16384"}, false, 16384},
		{"large_chunks", []string{"-x", "2"}, []string{"-l", "12840"}, false, 12840},
	} {
		t.Run(tc.name, func(t *testing.T) {
			port := uint16(6001 + i)
			split(t, splitOn)
			r := rule{port: port, queue: boundQueue, dst: v6.addr()}
			if tc.rss {
				id := in(t, rx.NS, func() (uint32, error) { return createContext(rx.Dev, boundQueue) })
				t.Cleanup(func() { do(t, rx.NS, func() error { return deleteContext(rx.Dev, id) }) })
				r.queue, r.context = 0, id
			}
			steer(t, r)
			c := count(t)
			p := strconv.Itoa(int(port))
			server := start(t, rx.NS, nil,
				append([]string{bin, "-s", "-p", p, "-i", rx.Dev, "-q", strconv.Itoa(boundQueue)}, tc.server...)...)
			waitListen(t, port, server)
			start(t, tx.NS, nil, append([]string{bin, "-c", "-h", v6.addr().String(), "-p", p}, tc.client...)...).wait()
			server.wait()
			if got := provider(c); got < tc.n {
				t.Errorf("%d bytes went to provider memory, want %d", got, tc.n)
			}
			t.Logf("%d bytes to provider memory\n%s", provider(c), server.out.Bytes())
		})
	}
}

// ncdevmemServer starts the devmem receiver with a rule for its port.
func ncdevmemServer(t *testing.T, f family, port uint16, args ...string) *prog {
	t.Helper()
	bin := selftest(t, "ncdevmem")
	split(t, splitOn)
	steer(t, rule{port: port, queue: boundQueue, dst: f.addr()})
	p := start(t, rx.NS, nil, append([]string{bin, "-l", "-n", "-f", rx.Dev, "-s", f.addr().String(),
		"-p", strconv.Itoa(int(port)), "-t", strconv.Itoa(boundQueue), "-q", "1"}, args...)...)
	waitListen(t, port, p)
	return p
}

// sendTo connects from the sender's end and sends the pieces one by one.
func sendTo(t *testing.T, f family, port uint16, data []byte) {
	t.Helper()
	c := in(t, tx.NS, func() (io.WriteCloser, error) { return dialAddr(netip.AddrPortFrom(f.addr(), port)) })
	defer c.Close()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
}

func TestSelftestDevmemRX(t *testing.T) {
	selftest(t, "ncdevmem")
	for i, f := range []family{v4, v6} {
		t.Run(fmt.Sprintf("ipv%d", f), func(t *testing.T) {
			port := uint16(6101 + i)
			server := ncdevmemServer(t, f, port, "-v", "7")
			c := count(t)
			data := bytes.Repeat([]byte("\x01\x02\x03\x04\x05\x06\n"), 150_000)
			sendTo(t, f, port, data)
			server.wait()
			// A segment may arrive twice.
			if got, n := provider(c), uint64(len(data)); got < n || got > n+n/8 {
				t.Errorf("%d bytes went to provider memory, sent were %d", got, n)
			}
		})
	}
}

// A segment of any size is split: nothing arrives in the linear part (-L).
func TestSelftestDevmemHDS(t *testing.T) {
	selftest(t, "ncdevmem")
	for i, n := range []int{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			port := uint16(6201 + i)
			server := ncdevmemServer(t, v6, port, "-L")
			sendTo(t, v6, port, make([]byte, n))
			server.wait()
		})
	}
}

func TestSelftestDevmemTX(t *testing.T) {
	bin := selftest(t, "ncdevmem")
	for i, extra := range [][]string{nil, {"-z", "3"}} {
		t.Run(fmt.Sprint(extra), func(t *testing.T) {
			port := uint16(6301 + i)
			l := listen(t, v6, port)
			before := in(t, tx.NS, func() (map[string]uint64, error) { return stats(tx.Dev) })
			const text = "hello\nworld\n"
			p := start(t, tx.NS, strings.NewReader(text),
				append([]string{bin, "-n", "-f", tx.Dev, "-s", v6.addr().String(),
					"-p", strconv.Itoa(int(port)), "-t", "0", "-q", "1"}, extra...)...)
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got, err := io.ReadAll(c)
			if err != nil || string(got) != text {
				t.Fatalf("received %q, %v", got, err)
			}
			p.wait()
			after := in(t, tx.NS, func() (map[string]uint64, error) { return stats(tx.Dev) })
			var n uint64
			for q := range 8 {
				name := fmt.Sprintf("tx%d_netmem_bytes", q)
				n += after[name] - before[name]
			}
			if n < uint64(len(text)) {
				t.Errorf("%d bytes were read from the dmabuf, want %d", n, len(text))
			}
		})
	}
}
