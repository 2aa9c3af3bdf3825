// SPDX-License-Identifier: MIT

package devmem_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"golang.org/x/sys/unix"
)

// Payload that the driver leaves in the packets' linear part counts as copied: a
// packet without any fragment in the memory is ordinary bytes to the kernel.
func TestLabLinear(t *testing.T) {
	labtest.Need(t)
	const bytes = 4<<20 + 40
	for name, c := range map[string]struct {
		small int
		want  uint64
	}{"small packets": {64, 40}, "all": {8192, bytes}} {
		t.Run(name, func(t *testing.T) {
			o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Alone: 40,
				Setup: labtest.CopySmall(t, c.small)})
			if err = errors.Join(err, o.Err); err != nil {
				t.Fatal(err)
			}
			k := o.Counters
			copied := k.CopiedBytes + k.LinearBytes
			if k.Bytes != bytes || k.Mismatches != 0 || k.ZeroCopyBytes+copied != bytes || !o.Evidence.CountsLinear {
				t.Errorf("%+v", k)
			}
			// A large send may end in a small packet too.
			if copied < c.want || copied > c.want+1024 {
				t.Errorf("%d bytes copied, want %d or a little more", copied, c.want)
			}
		})
	}
}

// The flow goes elsewhere: everything is copied, and the receiver says so and
// where it went.
func TestLabWrongQueue(t *testing.T) {
	labtest.Need(t)
	queue, other := 3, 1
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, NIC: stream.NICQueue{Queue: &queue},
		SteerTo: &other})
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatal(err)
	}
	if c := o.Counters; c.Bytes != 16<<20 || c.Mismatches != 0 || c.CopiedBytes != c.Bytes {
		t.Errorf("%+v", c)
	}
	const want = "the flow landed on queue 1, but the provider is on queue 3"
	if o.Evidence.Why != want || o.Evidence.Fix == "" {
		t.Errorf("why %q, want %q; fix %q", o.Evidence.Why, want, o.Evidence.Fix)
	}
}

// Header split cannot go off while the queue is bound; where it is off and cannot
// be had, the error says so.
func TestLabHeaderSplitOff(t *testing.T) {
	labtest.Need(t)
	var off error
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20, Begun: func(stream.Receiver) {
		_, off = labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
			return struct{}{}, d.SetHeaderSplit(nic.HeaderSplit{State: nic.SplitOff})
		})
	}})
	if off == nil {
		t.Error("header split went off under a bound queue")
	}
	_, err := labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
		mem, err := dmabuf.NewUdmabuf(4 << 20)
		if err != nil {
			return struct{}{}, err
		}
		defer mem.Close()
		_, err = d.BindRX(mem.FD, 3)
		return struct{}{}, err
	})
	if !errors.Is(err, unix.EINVAL) || !labtest.Contains(err, "tcp-data-split is disabled") ||
		!strings.Contains(fault.Fix(err), " tcp-data-split on") {
		t.Errorf("bind without header split: %v; fix: %s", err, fault.Fix(err))
	}
}

// starves is of an application that never gives back.
var starves = labtest.Transfer{Family: "ipv4", Bytes: 64 << 20, Touch: stream.TouchNone,
	NIC: stream.NICQueue{AreaBytes: 4 << 20, HoldBytes: 64 << 20}}

// An application that never gives back starves the NIC: that has a name, and the queue
// works again at once.
func TestLabStarved(t *testing.T) {
	labtest.Need(t)
	o, err := run(t, starves)
	if err != nil {
		t.Fatal(err)
	}
	if !labtest.Contains(o.Err, "starved: the NIC finds no buffer in RX queue 3: the application holds") ||
		!strings.Contains(fault.Fix(o.Err), "--hold") {
		t.Errorf("error %v after %d bytes; fix: %s", o.Err, o.Counters.Bytes, fault.Fix(o.Err))
	}
	t.Logf("%v", o.Err)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20})
}

// It is named within 10 seconds.
func TestLabStarvedSoon(t *testing.T) {
	kind.Timed(t)
	labtest.Need(t)
	var begun time.Time
	var took time.Duration
	x := starves
	x.Begun = func(stream.Receiver) { begun = time.Now() }
	x.Ended = func() { took = time.Since(begun) }
	o, err := run(t, x)
	if err != nil || o.Err == nil {
		t.Fatalf("%v, %v", err, o.Err)
	}
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	t.Logf("named after %v", took)
}

// The binding ends under the flow: the rest comes as ordinary bytes, and the
// receiver says why.
func TestLabBindingKilled(t *testing.T) {
	labtest.Need(t)
	flow, killed := make(chan stream.Receiver, 1), make(chan error, 1)
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, Begun: func(r stream.Receiver) { flow <- r },
		Half: func() { killed <- devmem.Kill(<-flow) }})
	kerr := errors.New("the flow ended before its half was sent")
	select {
	case kerr = <-killed:
	default:
	}
	if err = errors.Join(err, o.Err, kerr); err != nil {
		t.Fatal(err)
	}
	c := o.Counters
	if c.Bytes != 32<<20 || c.Mismatches != 0 || c.CopiedBytes == 0 || c.CopiedBytes+c.ZeroCopyBytes+
		c.LinearBytes != c.Bytes {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(o.Evidence.Why, "as it should, but its memory is no longer bound") ||
		len(o.Evidence.Notes) == 0 || o.Figure("devmem_provider_bound") != 0 {
		t.Errorf("why %q, notes %q", o.Evidence.Why, o.Evidence.Notes)
	}
	t.Logf("%d bytes in the memory, %d copied: %s", c.ZeroCopyBytes, c.CopiedBytes, o.Evidence.Why)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20})
}

func TestLabReset(t *testing.T) {
	labtest.Need(t)
	o, err := run(t, labtest.Transfer{Family: "ipv6", Bytes: 32 << 20, Reset: true})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.Err, unix.ECONNRESET) || !labtest.Contains(o.Err, "recvmsg") || o.Counters.Mismatches != 0 ||
		o.Counters.CopiedBytes != 0 {
		t.Errorf("error %v; %+v", o.Err, o.Counters)
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv6", Bytes: 8 << 20})
}
