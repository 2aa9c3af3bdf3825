// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// floodEnv makes this test binary a process that floods, until it is killed.
const floodEnv = "ZCBENCH_TEST_XDP_FLOOD"

func TestMain(m *testing.M) {
	if at := os.Getenv(floodEnv); at != "" {
		fmt.Println(flood(strings.Fields(at)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// held keeps the program attached: what nobody holds is collected.
var held *Rung

// flood attaches at one namespace and sends from the other.
func flood(paths []string) error {
	var g *Generator
	for i, dev := range []string{"zcsut", "zctg"} {
		ns, err := veth.OpenNetns(paths[i])
		if err != nil {
			return err
		}
		t := Tuples{Source: netip.MustParseAddr("10.77.0.2"), Dest: netip.MustParseAddr("10.77.0.1"), FirstPort: 40000,
			DestPort: 7719}
		err = ns.Do(func() (err error) {
			if i == 0 {
				held, err = OpenRung(Options{Dev: dev, Tuples: t, FrameBytes: MinFrameBytes, Touch: TouchRead})
				return err
			}
			if len(paths) > 2 {
				return floodByKernel(GeneratorOptions{Dev: dev, Tuples: t, FrameBytes: MinFrameBytes, CPUs: []int{0},
					Limit: await.Hang})
			}
			if g, err = NewGenerator(GeneratorOptions{Dev: dev, Tuples: t, FrameBytes: MinFrameBytes, CPUs: []int{0},
				Limit: await.Hang}); err != nil {
				return err
			}
			fmt.Println("floods")
			return g.Run()
		})
		if err != nil {
			return err
		}
	}
	return errors.New("it ended")
}

func floodByKernel(o GeneratorOptions) error {
	g, err := newKernelGenerator(o)
	if err != nil {
		return err
	}
	fmt.Println("floods")
	return g.Run()
}

// What is killed sends nothing more, and leaves no program.
func TestIntegrationKilledFlood(t *testing.T) {
	l := newLadder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floodEnv+"="+l.pair.SUT.Netns.Path()+" "+l.pair.TG.Netns.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	said := make([]byte, 64)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "floods\n" {
		t.Fatalf("the flood said %q, %v", said[:n], err)
	}
	before := l.stats(l.pair.TG).TxPackets
	waitFor(t, "frames", func() bool { return l.stats(l.pair.TG).TxPackets > before+1000 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, "the program to go", func() bool {
		return !in(t, l.pair.SUT.Netns, func() (rtnl.Link, error) { return rtnl.LinkNamed(l.pair.SUT.Dev) }).XDP
	})
	last := l.stats(l.pair.TG).TxPackets
	await.Pause("who goes on has the time to send", 50*time.Millisecond)
	if now := l.stats(l.pair.TG).TxPackets; now > last+10 {
		t.Errorf("%d frames were sent after the kill", now-last)
	}
}
