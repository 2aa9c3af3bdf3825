// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
)

// kernelOptions are those of the kernel's generator at the sender.
func (l *ladder) kernelOptions(frames uint64) GeneratorOptions {
	return GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: l.shortest(), CPUs: []int{0, 1},
		Frames: frames, Limit: await.Hang}
}

// The kernel's generator on two CPUs: its count, the interface's and the rung's agree to the last
// packet, with IPv4 and IPv6; its packets are what sockets take; nothing of it is left, and one
// that somebody uses is refused.
func TestPktgenInLab(t *testing.T) {
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs a kernel with pktgen: go test -exec "$PWD/bin/zcbench lab exec --own-boot --load veth ` +
			`--load pktgen --" -run TestPktgenInLab ./packet/xdp`)
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	for name, make := range map[string]func(testing.TB) *ladder{"IPv4": newLadder, "IPv6": newLadder6} {
		t.Run(name, func(t *testing.T) {
			l := make(t)
			l.Ports = 3
			r := l.rung(Options{Touch: TouchParse})
			const frames = 3000
			in(t, l.pair.TG.Netns, func() (any, error) {
				g, err := newKernelGenerator(l.kernelOptions(frames))
				if err != nil {
					return nil, err
				}
				defer g.Close()
				if _, err := newKernelGenerator(l.kernelOptions(frames)); err == nil ||
					!strings.Contains(err.Error(), "somebody's") || fault.Fix(err) == "" {
					t.Errorf("a second one beside it: %v", err)
				}
				before := g.link().notTaken
				if err := g.Run(); err != nil {
					return nil, err
				}
				d, err := g.Read()
				if err != nil {
					return nil, err
				}
				after := g.link()
				dropped := after.notTaken - before
				got := framesOf(r.Read)
				waitFor(t, "all packets", func() bool { return got()+dropped == d.Sent })
				if !after.countsNotTaken || d.Sent+d.Refused != 2*frames || got() == 0 {
					t.Errorf("%+v, %d came, %d dropped", d, got(), dropped)
				}
				t.Logf("%+v, %d came, %d dropped", d, got(), dropped)
				return nil, errors.Join(g.Close(), nic.PktgenBusy())
			})
		})
	}
	t.Run("socket", func(t *testing.T) {
		for _, make := range []func(testing.TB) *ladder{newLadder, newLadder6} {
			l := make(t)
			s := in(t, l.pair.SUT.Netns, func() (*Socket, error) {
				return OpenSocket(l.Tuples, l.shortest(), 4<<20, payloadOf(kernelPktgen, 0))
			})
			defer s.Close()
			in(t, l.pair.TG.Netns, func() (any, error) {
				o := l.kernelOptions(200)
				o.CPUs, o.Rate = []int{0}, 2000
				g, err := newKernelGenerator(o)
				if err != nil {
					return nil, err
				}
				defer g.Close()
				return nil, g.Run()
			})
			var got received
			waitFor(t, "datagrams", func() bool { _ = s.Drain(&got); return got.Packets > 100 })
			if got.Corrupted != 0 {
				t.Errorf("%+v", got)
			}
		}
	})
	t.Run("killed", func(t *testing.T) { killedPktgen(t) })
}

// killedPktgen: a process that is killed sends nothing more, and what it has left is given back.
func killedPktgen(t *testing.T) {
	l := newLadder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floodEnv+"="+l.pair.SUT.Netns.Path()+" "+l.pair.TG.Netns.Path()+" "+kernelPktgen)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	said := make([]byte, 256)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "floods\n" {
		t.Fatalf("the flood said %q, %v", said[:n], err)
	}
	sent := func() uint64 { s := l.stats(l.pair.TG); return s.TxPackets + s.TxDropped }
	before := sent()
	waitFor(t, "packets", func() bool { return sent() > before+1000 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	last := sent()
	waitFor(t, "an end of packets", func() bool {
		was := last
		await.Pause("who goes on has the time to send", 100*time.Millisecond)
		last = sent()
		return last == was
	})
	in(t, l.pair.TG.Netns, func() (any, error) {
		if err := nic.PktgenBusy(); err == nil {
			t.Error("it has left nothing, so that this test shows nothing")
		}
		reports, err := lease.Finish(lease.FinishOptions{})
		t.Logf("%+v", reports)
		return nil, errors.Join(err, nic.PktgenBusy())
	})
}
