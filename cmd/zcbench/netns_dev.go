// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/veth"
)

// namedNetns is where ip netns keeps the namespaces' names; tests have another place.
var namedNetns = "/run/netns"

// mostNetns is in how many namespaces an interface is looked for.
const mostNetns = 256

// deviceHere looks up an interface in the calling thread's network namespace. Where none has the
// name, the error lists those that exist, and the namespaces that have it: netns is the one that
// was asked for, "" for the process's own.
func deviceHere(name, netns string) (*net.Interface, error) {
	i, err := net.InterfaceByName(name)
	if err == nil {
		return i, nil
	}
	where := "this network namespace"
	if netns != "" {
		where = "network namespace " + netns
	}
	all, lerr := net.Interfaces()
	if lerr != nil {
		return nil, err
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	if names == nil {
		names = []string{"none"}
	}
	return nil, fmt.Errorf("there is no such interface in %s, which has: %s; %s", where, strings.Join(names, ", "),
		havingDevice(name))
}

// havingDevice suggests how to name the namespace that has an interface.
func havingDevice(name string) string {
	var have []string
	for _, ns := range netnsNames() {
		n, err := veth.OpenNetns(filepath.Join(namedNetns, ns))
		if err != nil {
			continue // not for this user to enter
		}
		_ = n.Do(func() error {
			if _, err := net.InterfaceByName(name); err == nil {
				have = append(have, "--netns "+plaintext.Word(ns))
			}
			return nil
		})
		n.Close()
	}
	if have != nil {
		return "it is there with " + strings.Join(have, ", or ")
	}
	return "name the namespace that has it with --netns (ip netns list)"
}

// netnsNames lists the names of ip netns, the first [mostNetns].
func netnsNames() (names []string) {
	entries, _ := os.ReadDir(namedNetns) // none is no error: nobody has made one
	for _, e := range entries[:min(len(entries), mostNetns)] {
		names = append(names, e.Name())
	}
	return names
}

// quiet explains what it may mean that a probe saw nothing: traffic of another namespace is not
// seen here.
func quiet(dev, netns string, filtered bool) string {
	where := "this network namespace"
	if netns != "" {
		where = "network namespace " + netns
	}
	if dev != "" {
		where = dev + " of " + where
	}
	s := fmt.Sprintf("nothing was received by %s", where)
	if filtered {
		s += " that the filters let pass (--addr, --port, --local-port, --remote-port, --pid, --cgroup)"
	}
	if netns != "" {
		return s
	}
	s += " (softirqs are counted for the whole machine); traffic of containers and of namespaces is seen with --netns"
	if names := netnsNames(); names != nil {
		s += " (here: " + strings.Join(names, ", ") + ")"
	}
	return s
}
