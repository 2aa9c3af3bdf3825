// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"

	"github.com/zcbench/zcbench/machine/veth"
)

// hostAutotuning gives both namespaces the socket buffer limits of this host, so
// that both tools run with what users have; package veth sets the wider ones of
// the reference experiment.
func hostAutotuning(p *veth.Pair) error {
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		path := "/proc/sys/net/ipv4/" + name
		limits, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read this host's %s: %w", name, err)
		}
		for _, e := range []veth.End{p.SUT, p.TG} {
			// A process's /proc/sys/net is that of its thread's namespace.
			if err := e.Netns.Do(func() error { return os.WriteFile(path, limits, 0o644) }); err != nil {
				return fmt.Errorf("set %s in the namespace: %w", name, err)
			}
		}
	}
	return nil
}
