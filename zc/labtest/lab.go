// SPDX-License-Identifier: MIT

// Package labtest is what the lab tests of modes that take a queue over share:
// transfers between the lab's two ends, and looks at the device before and after.
package labtest

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// The lab's two ends of the wire: a namespace and a soft NIC each.
var (
	RXNS, RXDev = guest.Ends[0].NS, guest.Ends[0].Dev
	TXNS, TXDev = guest.Ends[1].NS, guest.Ends[1].Dev
	Addrs       = map[string]string{"ipv4": address(guest.Ends[0].V4), "ipv6": address(guest.Ends[0].V6)}
)

func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

// Need skips a test outside the lab.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest, with a NIC that can: go test -exec "$PWD/bin/zcbench lab exec --" PACKAGE`)
	}
}

// errEnded is of a function that did not return.
var errEnded = errors.New("the test was ended by its own function")

// In runs f on a thread of its own in a network namespace; the thread ends
// with it.
func In[T any](ns string, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	c := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		r := result{err: errEnded}
		defer func() { c <- r }()
		leave, err := guest.Enter(ns)
		if r.err = err; err == nil {
			defer leave()
			r.err = errEnded
			r.v, r.err = f()
		}
	}()
	r := <-c
	return r.v, r.err
}

// DeviceState formats all that a receiver sets.
func DeviceState(t *testing.T) string {
	t.Helper()
	return deviceState(t, RXNS, RXDev)
}

func deviceState(t *testing.T, ns, dev string) string {
	t.Helper()
	s, err := In(ns, func() (string, error) {
		d, err := nic.Open(dev)
		if err != nil {
			return "", err
		}
		defer d.Close()
		h, e1 := d.HeaderSplit()
		table, e2 := d.Indirection()
		rules, e3 := d.HasRules()
		contexts, e5 := d.Contexts()
		for _, e := range []*error{&e2, &e3, &e5} { // a driver without any
			if errors.Is(*e, unix.EOPNOTSUPP) {
				*e = nil
			}
		}
		queues, e4 := d.Queues()
		for i := range queues {
			queues[i].NAPI = 0 // a restart may change it
		}
		return fmt.Sprint(h, table, rules, " rules ", len(contexts), " contexts ", queues), errors.Join(e1, e2, e3, e4,
			e5)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitLine reads what a process says until it says want.
func awaitLine(t *testing.T, r interface{ Read([]byte) (int, error) }, want string) {
	t.Helper()
	var all []byte
	b := make([]byte, 4096)
	for !strings.Contains(string(all), want) {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		if err != nil {
			t.Fatalf("the receiver said %q, then: %v", all, err)
		}
	}
}

// AwaitFree waits until a queue has no provider.
func AwaitFree(t *testing.T, queue int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("queue %d is no longer bound", queue), func() bool {
		q, err := OnDevice(func(d *nic.Device) (nic.Queue, error) { return d.Queue(queue) })
		if err != nil {
			t.Fatal(err)
		}
		return q.Provider == nic.ProviderNone
	})
}

// AwaitHugePages waits until so many bytes of reserved huge pages are free: the
// memory of a queue that was given back may be in use a little longer.
func AwaitHugePages(t *testing.T, bytes int) {
	t.Helper()
	free := regexp.MustCompile(`HugePages_Free: +(\d+)`)
	n := 0
	if !await.So(func() bool {
		b, err := os.ReadFile("/proc/meminfo")
		if err != nil {
			t.Fatal(err)
		}
		if m := free.FindSubmatch(b); m != nil {
			n, _ = strconv.Atoi(string(m[1]))
		}
		return n*(2<<20) >= bytes
	}) {
		t.Fatalf("%d huge pages are free, %d bytes are wanted", n, bytes)
	}
}

// OnDevice runs f on the receiving device.
func OnDevice[T any](f func(*nic.Device) (T, error)) (T, error) {
	return In(RXNS, func() (v T, err error) {
		d, err := nic.Open(RXDev)
		if err != nil {
			return v, err
		}
		defer d.Close()
		return f(d)
	})
}

// Refusal opens a receiver that cannot be had, after prepare in its thread, and
// checks that the device is as it was.
func Refusal(t *testing.T, open func(stream.Options) (stream.Receiver, error),
	prepare func() (back func(), err error)) error {
	t.Helper()
	before := DeviceState(t)
	_, err := In(RXNS, func() (struct{}, error) {
		back, err := prepare()
		if err != nil {
			t.Error(err)
			return struct{}{}, nil
		}
		defer back()
		return struct{}{}, TryOpen(open, stream.NICQueue{})
	})
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	return err
}

// TryOpen opens and closes a receiver in the calling thread's namespace.
func TryOpen(open func(stream.Options) (stream.Receiver, error), q stream.NICQueue) error {
	q.Dev = RXDev
	r, err := open(stream.Options{MessageBytes: messageBytes, Touch: stream.TouchNone, NIC: q})
	if err == nil {
		err = r.Close()
	}
	return err
}

// Killed kills the receiver that the test binary's test name is, with the
// environment variable env set, some times in the middle of its flow. Each time the
// queue must be free for the transfer that follows, whose lease restores what the
// dead one had set before it sets its own, so that nothing is left in the end.
func Killed(t *testing.T, name, env string, rounds int, next Transfer) {
	t.Helper()
	Need(t)
	splits(t)
	before := DeviceState(t)
	for range rounds {
		KilledAs(t, name, env+"=1", next)
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// KilledAs does what Killed does, once, with an environment variable NAME=VALUE.
func KilledAs(t *testing.T, name, env string, next Transfer) {
	t.Helper()
	splits(t)
	before := DeviceState(t)
	kill(t, name, env, 3)
	o, err := In(RXNS, next.Receive)
	if err != nil || o.Err != nil || o.Counters.ZeroCopyBytes != uint64(next.Bytes) {
		t.Errorf("the flow after it: %v, %v, %+v", err, o.Err, o.Counters)
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// Processes lists those that were started by a name.
func Processes(t testing.TB, name string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if b, err := os.ReadFile(path); err == nil && strings.TrimRight(string(b), "\x00") == name {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillProcesses kills those that were started by a name: at least one.
func KillProcesses(t testing.TB, name string) {
	t.Helper()
	pids := Processes(t, name)
	if len(pids) == 0 {
		t.Errorf("there is no process %s", name)
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// kill starts the test binary's test name as a process with the environment
// variable env, NAME=VALUE, awaits that it says "flowing" and that flows come by all queues,
// kills it, and waits until the queues are free.
func kill(t *testing.T, name, env string, queues ...int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // else it holds the lease of the tests that follow
	defer await.Later(await.Hang, func() { _ = cmd.Process.Kill() }).Stop()
	start := received(t)
	awaitLine(t, out, "flowing")
	for _, queue := range queues {
		await.Until(t, fmt.Sprintf("a MiB flows by queue %d", queue), func() bool {
			return received(t)[queue].Bytes >= start[queue].Bytes+1<<20
		})
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, queue := range queues {
		AwaitFree(t, queue)
	}
}

// received reads what has come by the queues, from the driver's counters.
func received(t *testing.T) map[int]nic.QueueStats {
	t.Helper()
	all, err := OnDevice((*nic.Device).QueueStats)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// WithoutNetAdmin takes CAP_NET_ADMIN from the calling thread, which is to end
// soon.
func WithoutNetAdmin() error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return err
	}
	d[0].Effective &^= 1 << unix.CAP_NET_ADMIN
	return unix.Capset(&h, &d[0])
}

// Contains reports whether err says want.
func Contains(err error, want string) bool { return err != nil && strings.Contains(err.Error(), want) }
