// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// in runs f in a namespace of the lab.
func in(t *testing.T, ns string, f func() error) {
	t.Helper()
	n, err := veth.OpenNetns(filepath.Join("/run/netns", ns))
	if err == nil {
		defer n.Close()
		err = n.Do(f)
	}
	if err != nil {
		t.Error(err)
	}
}

// With a real driver, whether it tells its interrupts or not, a flow's interrupts come to the
// CPU that was asked for, and are as before when that is undone.
func TestLabQEMUPlaced(t *testing.T) {
	if os.Getenv(guest.NICEnv) == "" {
		t.Skip(`needs a NIC of QEMU's: go test -exec "$PWD/bin/zcbench lab exec --nic qemu:virtio --" ./machine/place`)
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	dev := guest.Ends[0].Dev
	irqs := interrupts(t, dev)
	before := affinities(t, irqs)
	for _, cpu := range []int{0, 1} {
		t.Run(fmt.Sprint("CPU ", cpu), func(t *testing.T) {
			in(t, guest.NSReceiver, func() error {
				p, err := Softirq(dev, On(cpu))
				if err != nil {
					return err
				}
				if p.By != "irq" {
					t.Errorf("placed by %s", p.By)
				}
				for irq, at := range affinities(t, irqs) {
					if at != fmt.Sprint(cpu) {
						t.Errorf("interrupt %d may go to CPUs %s", irq, at)
					}
				}
				flow(t, 512<<10) // an interrupt moves when it next comes
				a := counts(t, irqs)
				flow(t, 2<<20)
				b := counts(t, irqs)
				here, elsewhere := b[cpu]-a[cpu], b[1-cpu]-a[1-cpu]
				t.Logf("interrupts of %v: %d here, %d elsewhere", irqs, here, elsewhere)
				if here < 10 || elsewhere > uint64(len(irqs)) {
					t.Errorf("%d interrupts on CPU %d, %d elsewhere", here, cpu, elsewhere)
				}
				return errors.Join(p.Check(), p.Undo())
			})
			for irq, at := range affinities(t, irqs) {
				if at != before[irq] {
					t.Errorf("interrupt %d was for CPUs %s and is for %s", irq, before[irq], at)
				}
			}
		})
	}
}

func interrupts(t *testing.T, dev string) (irqs []int) {
	t.Helper()
	in(t, guest.NSReceiver, func() error {
		d, err := nic.Open(dev)
		if err != nil {
			return err
		}
		defer d.Close()
		irqs, err = d.IRQs()
		return err
	})
	if len(irqs) == 0 {
		t.Fatal("there are none")
	}
	return irqs
}

func affinities(t *testing.T, irqs []int) map[int]string {
	t.Helper()
	out := map[int]string{}
	for _, irq := range irqs {
		var err error
		if out[irq], err = nic.IRQAffinity(irq); err != nil {
			t.Error(err)
		}
	}
	return out
}

// counts are how many of the interrupts each CPU has taken.
func counts(t *testing.T, irqs []int) map[int]uint64 {
	t.Helper()
	all, err := nic.ReadInterrupts()
	if err != nil {
		t.Error(err)
	}
	out := map[int]uint64{}
	for irq, x := range all {
		if slices.Contains(irqs, irq) {
			for cpu, n := range x.Counts {
				out[cpu] += n
			}
		}
	}
	return out
}

// flow sends bytes from the sender's end to the receiver's, over the wire.
func flow(t *testing.T, bytes int64) {
	t.Helper()
	addr := netip.MustParsePrefix(guest.Ends[0].V4).Addr().String()
	got := make(chan int64, 1)
	var l net.Listener
	in(t, guest.NSReceiver, func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(addr, "0"))
		return err
	})
	if l == nil {
		return
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- 0
			return
		}
		defer c.Close()
		_ = c.SetDeadline(await.Deadline())
		n, _ := io.Copy(io.Discard, c)
		got <- n
	}()
	in(t, guest.NSSender, func() error {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(await.Deadline()); err != nil {
			return err
		}
		block := make([]byte, 64<<10)
		for left := bytes; left > 0; left -= int64(len(block)) {
			if _, err := c.Write(block); err != nil {
				return err
			}
		}
		return nil
	})
	if n := <-got; n != bytes {
		t.Errorf("%d of %d bytes came", n, bytes)
	}
}
