// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/veth"
)

// hostAutotuning gives both namespaces the socket buffer limits of this host, so
// that both tools run with what users have; package veth sets the wider ones of
// the reference experiment.
func hostAutotuning(p *veth.Pair) error {
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		path := "/proc/sys/net/ipv4/" + name
		limits, err := kernelfile.ReadFile(path)
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

// noSlowStart lets a flow that was stopped go on where it was: others' turns may last longer than
// its retransmission timeout, after which TCP begins anew (net/ipv4/tcp_output.c:
// tcp_cwnd_restart).
func noSlowStart(p *veth.Pair) error {
	for _, e := range []veth.End{p.SUT, p.TG} {
		if err := e.Netns.Do(func() error {
			return os.WriteFile("/proc/sys/net/ipv4/tcp_slow_start_after_idle",
				[]byte("0"), 0o644)
		}); err != nil {
			return fmt.Errorf("set tcp_slow_start_after_idle in the namespace: %w", err)
		}
	}
	return nil
}

// freePorts lets an end's connections take the ports of those that ended a second ago and are still
// waited after: with the few ports that hosts have, an end that closes first has none left soon.
func freePorts(e veth.End) error {
	if err := e.Netns.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/tcp_tw_reuse", []byte("1"), 0o644)
	}); err != nil {
		return fmt.Errorf("set tcp_tw_reuse in the namespace: %w", err)
	}
	return nil
}
