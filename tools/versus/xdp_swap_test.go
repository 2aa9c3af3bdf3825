// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/packet/xdp"
)

const fakeBench = "VERSUS_FAKE_XDP_BENCH"

// TestFakeXDPBench is the program that stands for xdp-bench below: it drops and counts.
func TestFakeXDPBench(t *testing.T) {
	dev := os.Getenv(fakeBench)
	if dev == "" {
		return // it is no test
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	const drop = 1 // XDP_DROP
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "MIT",
		Flags: unix.BPF_F_XDP_HAS_FRAGS, Instructions: asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word), asm.LoadMapPtr(asm.R1, counts.FD()), asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1), asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, drop).WithSymbol("out"), asm.Return(),
		}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := net.InterfaceByName(dev)
	if err != nil {
		t.Fatal(err)
	}
	held, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: i.Index, Flags: link.XDPDriverMode})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("0 rx/s")
	<-stop
	held.Close()
	var n uint64
	if err := counts.Lookup(uint32(0), &n); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("  Duration            : 1.0s\n  Packets received    : %d\n", n)
	os.Exit(0)
}

// In one flood two programs take turns, and every frame is in the count of one of them.
func TestIntegrationXDPTurns(t *testing.T) {
	kind.Timed(t)
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces and attaching XDP programs needs root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "xdp-bench")
	text := "#!/bin/sh\nfor last; do :; done\n" + fakeBench + "=\"$last\" exec " + self +
		" -test.run '^TestFakeXDPBench$'\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := newXDPLink(Tools{SenderCPUs: cpulist.Flag{0}, ReceiverCPUs: cpulist.Flag{0}}, 1500, xdpPace{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	const d, each = 200 * time.Millisecond, 20 * time.Millisecond
	got, err := l.swapped(t.Context(), xdpCase{xdp.Drop, xdp.Native, xdp.TouchNone},
		xdpBench{path: script, operation: operations[0]}, d, each)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		if s.Frames == 0 || s.PerSecond <= 0 || s.NsEach <= 0 || s.Lost < 0 || s.Lost > 1 {
			t.Errorf("side %d: %+v", i, s)
		}
	}
}
