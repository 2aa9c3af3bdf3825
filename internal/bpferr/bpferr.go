// SPDX-License-Identifier: MIT

// Package bpferr finds out what the kernel says where the eBPF library hides it.
package bpferr

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Kernel returns what the kernel says to a plain map, where the library's error has no errno: it
// takes whatever keeps it from making one of its maps for an old kernel, and hides it (featuretest
// of github.com/cilium/ebpf: haveMapMutabilityModifiers).
func Kernel(err error) error {
	if errno := unix.Errno(0); errors.As(err, &errno) || errors.Is(err, btf.ErrNotFound) {
		return err
	}
	m, merr := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if merr != nil {
		return merr
	}
	m.Close()
	return err
}
