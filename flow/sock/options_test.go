// SPDX-License-Identifier: MIT

package sock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

func socket(t testing.TB) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func get(t testing.TB, fd, opt int) int {
	t.Helper()
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, opt)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sysctl(t testing.TB, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/core/" + name)
	if err != nil {
		t.Skipf("net.core.%s is not readable here: %v", name, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNoOptionsLeaveTheKernelsDefaults(t *testing.T) {
	fd, other := socket(t), socket(t)
	if err := (Options{}).Apply(fd); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF, unix.SO_MAX_PACING_RATE, unix.SO_ZEROCOPY} {
		if a, b := get(t, fd, opt), get(t, other, opt); a != b {
			t.Errorf("option %d: %d, untouched %d", opt, a, b)
		}
	}
}

func TestOptionsArrive(t *testing.T) {
	fd := socket(t)
	if err := (Options{RcvBuf: 100_000, SndBuf: 200_000, Congestion: "reno", PaceBitsPS: 4_000_000_000,
		ZeroCopy: true}).Apply(fd); err != nil {
		t.Fatal(err)
	}
	if r, s := get(t, fd, unix.SO_RCVBUF), get(t, fd, unix.SO_SNDBUF); r != 200_000 || s != 400_000 {
		t.Errorf("buffers %d and %d: the kernel doubles", r, s)
	}
	if cc, err := Congestion(fd); cc != "reno" || err != nil {
		t.Errorf("congestion control %q, %v", cc, err)
	}
	if p := get(t, fd, unix.SO_MAX_PACING_RATE); p != -1 {
		t.Errorf("the kernel paces, too: %d bytes a second", p)
	}
	if n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT); n != 50_000_000 || err != nil {
		t.Errorf("%d bytes may wait (%v), want those of a tenth of a second", n, err)
	}
	if get(t, fd, unix.SO_ZEROCOPY) != 1 {
		t.Error("no SO_ZEROCOPY")
	}
}

func TestIntegrationRootPassesTheLimit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: SO_RCVBUFFORCE")
	}
	fd, n := socket(t), max(sysctl(t, "rmem_max"), sysctl(t, "wmem_max"))+4096
	if err := (Options{RcvBuf: n, SndBuf: n}).Apply(fd); err != nil {
		t.Fatal(err)
	}
	if r, s := get(t, fd, unix.SO_RCVBUF), get(t, fd, unix.SO_SNDBUF); r != 2*n || s != 2*n {
		t.Errorf("buffers %d and %d, not %d", r, s, 2*n)
	}
}

// powerless runs f on a thread of its own that has no capabilities.
func powerless(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&h, &none[0]); err != nil {
			done <- fmt.Errorf("capset: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

func TestCutBufferIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		limit string
		o     func(n int) Options
	}{
		"SO_RCVBUF": {"rmem_max", func(n int) Options { return Options{RcvBuf: n} }},
		"SO_SNDBUF": {"wmem_max", func(n int) Options { return Options{SndBuf: n} }},
	} {
		limit := sysctl(t, c.limit)
		if err := powerless(func() error { return c.o(limit).Apply(socket(t)) }); err != nil {
			t.Errorf("%s at its limit: %v", name, err)
		}
		err := powerless(func() error { return c.o(limit + 1).Apply(socket(t)) })
		e := (*fault.Error)(nil)
		if !errors.As(err, &e) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), strconv.Itoa(limit)) || !strings.Contains(e.Fix(), "sysctl -w net.core."+
			c.limit) {
			t.Errorf("%s past its limit: %v", name, err)
		}
	}
}

func TestUnknownCongestionListsWhatThereIs(t *testing.T) {
	e := (*fault.Error)(nil)
	err := Options{Congestion: "nosuch"}.Apply(socket(t))
	if !errors.As(err, &e) || !errors.Is(err, unix.ENOENT) || !strings.Contains(e.Fix(), "modprobe tcp_nosuch") ||
		!strings.Contains(e.Fix(), "reno") {
		t.Errorf("%v", err)
	}
}

func TestOptionsOnNoSocket(t *testing.T) {
	for _, o := range []Options{{RcvBuf: 1 << 16}, {SndBuf: 1 << 16}, {Congestion: "reno"}, {PaceBitsPS: 1e9},
		{ZeroCopy: true}} {
		if err := o.Apply(-1); !errors.Is(err, unix.EBADF) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Congestion(-1); !errors.Is(err, unix.EBADF) {
		t.Error(err)
	}
}
