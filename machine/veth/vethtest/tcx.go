// SPDX-License-Identifier: MIT

package vethtest

import (
	"errors"
	"net"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/zcbench/zcbench/machine/veth"
)

// Attach attaches a program of tc to an end for as long as the test lasts: it sees what comes in
// ([ebpf.AttachTCXIngress]) or leaves ([ebpf.AttachTCXEgress]). Without tcx the test is skipped.
func Attach(t testing.TB, e veth.End, at ebpf.AttachType, all asm.Instructions) {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Dual MIT/GPL", Instructions: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	var l link.Link
	err = e.Netns.Do(func() error {
		dev, err := net.InterfaceByName(e.Dev)
		if err != nil {
			return err
		}
		l, err = link.AttachTCX(link.TCXOptions{Interface: dev.Index, Program: p, Attach: at})
		return err
	})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("this kernel has no tcx, which came with Linux 6.6: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}
