// SPDX-License-Identifier: MIT

package lab

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Machine says what a machine is.
type Machine struct {
	Cache          string
	Suite, Release string // of its kernel
	CPUs, MemMiB   int
	Module         string // parameters of the soft NIC, for commands that ask for none
	NIC            string // of QEMU's or ours, in place of the soft NIC
	Card           string // what one of ours does besides
	MTU            int
	QEMU, Load     []string
	KVM            bool   // not emulated
	Counts         bool   // its clocks count instructions
	Init           string // which program is its first
}

// lacks returns the first option that the machine does not meet, or "". Options that were not given
// match anything.
func (m *Machine) lacks(o *MachineOptions) string {
	cache := o.Cache
	if abs, err := filepath.Abs(o.Cache); err == nil && o.Cache != "" {
		cache = abs
	}
	for _, w := range []struct {
		asked bool
		ok    bool
		flag  string
		has   any
	}{
		{o.Kernel != "", m.Suite == o.Kernel || strings.HasPrefix(m.Release, o.Kernel), "kernel " + o.Kernel,
			m.Release},
		{o.CPUs != 0, m.CPUs == o.CPUs, fmt.Sprintf("cpus %d", o.CPUs), m.CPUs},
		{o.MemMiB != 0, m.MemMiB == o.MemMiB, fmt.Sprintf("mem %d", o.MemMiB), m.MemMiB},
		{m.NIC != "" && o.NIC+o.Module != "" || o.qemuNIC() != nil, m.NIC == o.NIC, "nic " + cmp.Or(o.NIC, "soft"),
			cmp.Or(m.NIC, "soft")},
		{o.Card != "", m.Card == o.Card, "gvnic " + o.Card, cmp.Or(m.Card, "none of it")},
		{o.MTU != 0, m.MTU == o.MTU, fmt.Sprintf("mtu %d", o.MTU), m.MTU},
		{len(o.QEMU) > 0, slices.Equal(m.QEMU, o.QEMU), "qemu " + strings.Join(o.QEMU, " "), m.QEMU},
		{len(o.Load) > 0, slices.Equal(m.Load, o.Load), "load " + strings.Join(o.Load, " "), m.Load},
		{o.NoKVM, !m.KVM, "no-kvm", "KVM"},
		{o.CountTime, m.Counts, "count-time", "clocks in real time"},
		{o.CountEmulated && !m.KVM, m.Counts, "count-time", "clocks in real time"},
		{o.Cache != "", m.Cache == cache, "cache " + o.Cache, m.Cache},
		{o.Init != "", m.Init == identity(o.Init), "this build of zcbench", "another"},
	} {
		if w.asked && !w.ok {
			return fmt.Sprintf("%s was requested, it has %v", w.flag, w.has)
		}
	}
	return ""
}

// inode identifies a file by device and inode number.
func inode(st fs.FileInfo) string {
	s := st.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}
