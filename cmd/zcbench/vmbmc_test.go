// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// vmBMC is a BMC for a virtual machine. QEMU's ipmi-bmc-extern hands it what the
// guest's kernel asks the interface, in the framing that OpenIPMI's simulator
// has for virtual machines.
type vmBMC struct {
	path string // of the socket on which QEMU listens

	mu     sync.Mutex
	answer func(data []byte) []byte // to Get Power Reading: completion code and data; nil: none
	asked  int                      // DCMI power readings
}

// The framing: these bytes end a message and a command, and announce a byte that
// is one of them, which then has bit 4 set.
const (
	vmEndMessage = 0xa0
	vmEndCommand = 0xa1
	vmEscape     = 0xaa
)

// startVMBMC waits for QEMU's socket and connects to it: QEMU 7.2 crashes when
// its BMC's socket is connected before the machine is complete.
func startVMBMC(t *testing.T) *vmBMC {
	t.Helper()
	b := &vmBMC{path: filepath.Join(t.TempDir(), "bmc")}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			await.Pause("QEMU makes its socket when its machine is complete", 50*time.Millisecond)
			c, err := net.Dial("unix", b.path)
			if err != nil {
				continue // not yet
			}
			stop := context.AfterFunc(t.Context(), func() { c.Close() })
			if err := b.serve(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				t.Errorf("BMC: %v", err)
			}
			stop()
			c.Close()
		}
	}()
	t.Cleanup(func() { close(quit); <-done })
	return b
}

// serve answers messages until QEMU goes.
func (b *vmBMC) serve(c net.Conn) error {
	in := bufio.NewReader(c)
	for {
		msg, err := readVM(in)
		if err != nil {
			return err
		}
		if msg == nil {
			continue
		}
		seq, netFn, cmd := msg[0], msg[1]>>2, msg[2]
		answer := b.handle(netFn, cmd, msg[3:])
		if answer == nil {
			continue
		}
		out := append([]byte{seq, msg[1] | 1<<2, cmd}, answer...)
		if _, err := c.Write(frameVM(append(out, -sum(out)))); err != nil {
			return err
		}
	}
}

// readVM reads a message, without its sum; nil for a command of QEMU's to us,
// such as that the machine was reset.
func readVM(in *bufio.Reader) ([]byte, error) {
	var msg []byte
	for {
		x, err := in.ReadByte()
		if err != nil {
			return nil, err
		}
		switch x {
		case vmEndCommand:
			return nil, nil
		case vmEndMessage:
			if len(msg) < 4 || sum(msg) != 0 {
				return nil, errors.New("QEMU sent a message that is too short, or with a wrong sum")
			}
			return msg[:len(msg)-1], nil
		case vmEscape:
			if x, err = in.ReadByte(); err != nil {
				return nil, err
			}
			x &^= 0x10
		}
		msg = append(msg, x)
	}
}

func frameVM(msg []byte) []byte {
	var out []byte
	for _, x := range msg {
		if x == vmEndMessage || x == vmEndCommand || x == vmEscape {
			out = append(out, vmEscape)
			x |= 0x10
		}
		out = append(out, x)
	}
	return append(out, vmEndMessage)
}

func sum(b []byte) (s byte) {
	for _, x := range b {
		s += x
	}
	return s
}

// handle answers what Linux asks of every BMC, and DCMI's Get Power Reading.
func (b *vmBMC) handle(netFn, cmd byte, data []byte) []byte {
	switch {
	case netFn == 0x06 && cmd == 0x01: // Get Device ID: IPMI 2.0, maker 0
		return []byte{0, 0x20, 0, 1, 0, 0x02, 0, 0, 0, 0, 0, 0}
	case netFn == 0x06 && (cmd == 0x2e || cmd == 0x30): // Set Global Enables, Clear Message Flags
		return []byte{0}
	case netFn == 0x06 && (cmd == 0x2f || cmd == 0x31): // Get Global Enables, Get Message Flags
		return []byte{0, 0}
	case netFn == 0x2c && cmd == 0x02:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked++
		return b.answer(data)
	}
	return []byte{0xc1}
}

// readings is how many power readings were asked for.
func (b *vmBMC) readings() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}
