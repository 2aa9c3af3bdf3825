// SPDX-License-Identifier: MIT

package devmem_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// What cannot be had says why, and what to do.
func TestLabRefused(t *testing.T) {
	labtest.Need(t)
	const file = "/sys/module/udmabuf/parameters/size_limit_mb"
	far := 99
	for name, c := range map[string]struct {
		q         stream.NICQueue
		limit     string // of udmabufs, MiB
		is        error
		want, fix string
	}{
		"no such queue": {q: stream.NICQueue{Queue: &far}, is: unix.ENOENT, want: "find RX queue 99",
			fix: "ethtool -L"},
		"too small": {q: stream.NICQueue{AreaBytes: 1 << 20}, is: dmabuf.ErrRing,
			want: "memory of 1048576 bytes for the RX ring of sn0, 512 buffers", fix: "--area-size 2097152"},
		"size limit": {q: stream.NICQueue{AreaBytes: 9 << 20}, limit: "8", is: dmabuf.ErrLimit,
			want: "above the kernel's limit of 8 MiB", fix: "echo 9 > " + file},
		"huge pages missing": {q: stream.NICQueue{Area: dmabuf.Huge, AreaBytes: 1 << 30}, limit: "4096",
			is: unix.ENOMEM, want: "mmap", fix: "vm.nr_hugepages=512"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limit != "" {
				old, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, []byte(c.limit), 0)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer os.WriteFile(file, old, 0)
			}
			_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: c.q})
			var u *fault.Unsupported
			if !errors.As(err, &u) || !errors.Is(err, c.is) || !labtest.Contains(err, c.want) ||
				!strings.Contains(fault.Fix(err), c.fix) {
				t.Errorf("error %v; fix %q; want %q and %q", err, fault.Fix(err), c.want, c.fix)
			}
			t.Logf("%v; fix: %s", err, fault.Fix(err))
		})
	}
}

func TestLabXDPAttached(t *testing.T) {
	labtest.Need(t)
	var probed error
	err := labtest.Refusal(t, open, func() (func(), error) {
		back, err := labtest.AttachXDP(labtest.RXDev)
		if err == nil {
			probed = devmem.ProbeDevice(labtest.RXDev)
		}
		return back, err
	})
	for _, err := range []error{err, probed} {
		if !labtest.Contains(err, "XDP program is attached to sn0") || !strings.Contains(fault.Fix(err), "xdp off") {
			t.Errorf("%v; fix: %s", err, fault.Fix(err))
		}
	}
}

// Without the capability nothing is changed, and the error says what is missing.
func TestLabWithoutCapability(t *testing.T) {
	labtest.Need(t)
	err := labtest.Refusal(t, open, func() (func(), error) { return func() {}, labtest.WithoutNetAdmin() })
	if !errors.Is(err, unix.EPERM) || !strings.Contains(fault.Fix(err), "CAP_NET_ADMIN") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	t.Logf("%v; fix: %s", err, fault.Fix(err))
}

// A queue serves one flow: a second receiver of the queue is refused, of devmem
// and of zcrx, and another queue still is to be had.
func TestLabTaken(t *testing.T) {
	labtest.Need(t)
	other := 1
	var second, ring, beside error
	try := func(into *error, open func(stream.Options) (stream.Receiver, error), q stream.NICQueue) func() {
		return func() {
			_, *into = labtest.In(labtest.RXNS, func() (struct{}, error) {
				return struct{}{},
					labtest.TryOpen(open, q)
			})
		}
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20, Begun: func(stream.Receiver) {
		var both sync.WaitGroup // each waits a moment for the queue
		both.Go(try(&second, open, stream.NICQueue{}))
		both.Go(try(&ring, labtest.Opener(zcrx.New), stream.NICQueue{}))
		both.Wait()
		try(&beside, open, stream.NICQueue{Queue: &other})()
	}})
	for _, err := range []error{second, ring} {
		if !errors.Is(err, unix.EEXIST) ||
			!labtest.Contains(err, "RX queue 3 with memory of dmabuf of sn0 is already taken") ||
			!strings.Contains(fault.Fix(err), "--queue") {
			t.Errorf("a second receiver: %v", err)
		}
	}
	if beside != nil {
		t.Errorf("a receiver on another queue: %v", beside)
	}
}

func TestLabProbe(t *testing.T) {
	labtest.Need(t)
	before := labtest.DeviceState(t)
	probe := func(dev string, f func(string) error) error {
		_, err := labtest.In(labtest.RXNS, func() (struct{}, error) { return struct{}{}, f(dev) })
		return err
	}
	for name, f := range map[string]func(string) error{"receive": devmem.ProbeDevice, "send": devmem.ProbeSendDevice} {
		if err := probe(labtest.RXDev, f); err != nil {
			t.Errorf("%s: soft NIC: %v", name, err)
		}
		for dev, want := range map[string]string{"lo": "", "nothing": "find interface"} {
			if err := probe(dev, f); !labtest.Contains(err, want) || fault.Fix(err) == "" {
				t.Errorf("%s: %s: %v", name, dev, err)
			} else {
				t.Logf("%s: %v; fix: %s", name, err, fault.Fix(err))
			}
		}
	}
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("a probe changed the device:\nbefore %s\nafter  %s", before, after)
	}
}
