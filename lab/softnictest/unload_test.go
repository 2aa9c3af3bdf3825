// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
)

// The namespaces are deleted with a queue bound and traffic running; the
// devices fall back to the first namespace and work again. Then the module goes
// and comes back. It is in the last file, and so runs last: it
// rebuilds the network.
func TestNamespacesAndModuleComeAndGo(t *testing.T) {
	needLab(t)
	split(t, splitOn)
	u := newUdmabuf(t, 4<<20)
	b := mustBind(t, u, boundQueue)
	l := listen(t, v4, 5057)
	c := dial(t, l)
	// Without lingering: if the receiver's last packet is lost with its device,
	// the sender's orphan would try for minutes, and keep its namespace.
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	go c.Write(payload(8 << 20)) // nobody reads: it ends with the connection
	for _, e := range guest.Ends {
		if err := deleteNamespace(e.NS); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	l.Close()
	b.Close()
	waitDevices(t)
	if err := guest.SetupNetwork(0); err != nil {
		t.Fatal(err)
	}
	transfer(t, listen(t, v4, 5058), 1<<20)
	for range 3 {
		if err := unix.DeleteModule("softnic", unix.O_NONBLOCK); err != nil {
			t.Fatalf("delete_module: %v", err)
		}
		for _, e := range guest.Ends {
			if err := deleteNamespace(e.NS); err != nil {
				t.Fatal(err)
			}
		}
		reload(t)
		transfer(t, listen(t, v6, 5059), 1<<20)
	}
}

// waitDevices waits until both ends are in this namespace: the kernel takes
// namespaces apart in the background.
func waitDevices(t *testing.T) {
	t.Helper()
	if await.So(func() bool {
		_, err0 := os.Stat("/sys/class/net/" + rx.Dev)
		_, err1 := os.Stat("/sys/class/net/" + tx.Dev)
		return err0 == nil && err1 == nil
	}) {
		return
	}
	t.Fatalf("the soft NICs did not come back from their deleted namespaces; threads in namespaces other than "+
		"the first:\n%s", strangers())
}

// strangers lists the threads of this machine that are in another network
// namespace than its first process: what can keep a namespace alive, besides
// sockets.
func strangers() string {
	home, _ := os.Readlink("/proc/1/ns/net")
	var b strings.Builder
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/*")
	for _, p := range tasks {
		ns, err := os.Readlink(p + "/ns/net")
		if err == nil && ns != home {
			comm, _ := os.ReadFile(p + "/comm")
			fmt.Fprintf(&b, "%s %s %s\n", p, ns, bytes.TrimSpace(comm))
		}
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, p := range fds {
		if to, err := os.Readlink(p); err == nil && (strings.HasPrefix(to, "net:") ||
			strings.HasPrefix(to, "socket:")) {
			fmt.Fprintf(&b, "%s -> %s\n", p, to)
		}
	}
	return b.String()
}

func reload(t *testing.T) {
	t.Helper()
	f, err := os.Open(guest.ModulePath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil {
		t.Fatalf("finit_module: %v", err)
	}
	if err := guest.SetupNetwork(0); err != nil {
		t.Fatal(err)
	}
}

// deleteNamespace takes a network namespace's name away, as ip netns delete does.
func deleteNamespace(name string) error {
	path := filepath.Join("/run/netns", name)
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return &os.PathError{Op: "umount", Path: path, Err: err}
	}
	return os.Remove(path)
}
