// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// netnsDir is where ip-netns(8) keeps named namespaces.
const netnsDir = "/run/netns"

// newNamespace makes a named network namespace, as ip netns add does.
func newNamespace(name string) (*veth.Netns, error) {
	if err := os.MkdirAll(netnsDir, 0o755); err != nil {
		return nil, err
	}
	ns, err := veth.NewNetns()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(netnsDir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err == nil {
		f.Close()
		if err = unix.Mount(ns.Path(), path, "", unix.MS_BIND, ""); err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("name the network namespace %s: %w", name, err), ns.Close())
	}
	return ns, nil
}

// Enter moves the calling thread into a named network namespace; leave moves it
// back. The caller has the thread locked.
func Enter(name string) (leave func(), err error) {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	ns, err := veth.OpenNetns(filepath.Join(netnsDir, name))
	if err == nil {
		defer ns.Close()
		err = unix.Setns(ns.Fd(), unix.CLONE_NEWNET)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("enter the network namespace %s: %w", name, err), home.Close())
	}
	return func() {
		_ = unix.Setns(int(home.Fd()), unix.CLONE_NEWNET)
		home.Close()
	}, nil
}
