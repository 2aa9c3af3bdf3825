// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// openNetns opens the network namespace that --netns names, by a name of ip netns or a path; nil
// for none.
func openNetns(name string) (*veth.Netns, error) {
	if name == "" {
		return nil, nil
	}
	spec, err := host.ParseSpec("netns:" + name)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	ns, err := veth.OpenNetns(spec.Netns)
	if errors.Is(err, fs.ErrNotExist) {
		have := "ip netns list has none"
		if names := netnsNames(); names != nil {
			have = "there are " + strings.Join(names, ", ")
		}
		return nil, cli.Usagef("--netns: %w; %s", err, have)
	}
	if err != nil {
		return nil, cli.Usagef("--netns: %w", err)
	}
	if err := ns.Do(func() error { return nil }); errors.Is(err, unix.EINVAL) {
		ns.Close()
		return nil, cli.Usagef("--netns: %w", err)
	}
	return ns, nil
}
