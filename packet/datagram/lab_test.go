// SPDX-License-Identifier: MIT

package datagram_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// A real driver, of the NIC that QEMU has, gives datagrams to sockets of AF_XDP: copied, and
// without a copy where it can. Each is right to its last byte, all are accounted for, and the
// kernel's word on copying is what was asked for. Where it cannot, the refusal has the reason and
// the fix.
func TestLabQEMUAFXDP(t *testing.T) {
	which := os.Getenv(guest.NICEnv)
	if which == "" {
		t.Skip(`needs a NIC of QEMU's: go test -exec "$PWD/bin/zcbench lab exec --nic qemu:virtio --" -run ` +
			`TestLabQEMUAFXDP ./packet/datagram`)
	}
	long.Test(t)
	channels, most, mapped := labNIC(t)
	all := strconv.Itoa(most)
	zero := which == "qemu:virtio" && mapped
	attach := "native"
	if which != "qemu:virtio" { // its driver has no XDP
		attach = "generic"
	}
	t.Run("copied", func(t *testing.T) {
		r := labRun(t, "--rx", "udp-xsk", "--xdp-attach", attach, "--touch", "verify")
		labReceived(t, &r, false)
	})
	t.Run("zero copy", func(t *testing.T) {
		flags := []string{"--rx", "udp-xsk-zc", "--touch", "verify"}
		if most > 0 { // e1000e reports none
			flags = append(flags, "--channels", all)
		}
		r := labRun(t, flags...)
		if !zero {
			want := "invalid argument (EINVAL)" // virtio_net without VIRTIO_F_ACCESS_PLATFORM: virtnet_xsk_pool_enable
			if attach == "generic" {
				want = "has no zero copy for AF_XDP"
			}
			if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, want) || r.Fix == "" {
				t.Errorf("%s: %s (%s), want %q", r.Verdict, r.Reason, r.Fix, want)
			}
			t.Logf("%s: %s (%s)", r.Verdict, r.Reason, r.Fix)
			return
		}
		labReceived(t, &r, true)
	})
	if !zero || channels == most {
		return
	}
	t.Run("queues of the program's", func(t *testing.T) {
		r := labRun(t, "--rx", "udp-xsk-zc")
		if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, "with an XDP program it has") ||
			!strings.Contains(r.Fix, "--channels "+all) {
			t.Errorf("%s: %s (%s)", r.Verdict, r.Reason, r.Fix)
		}
	})
}

// labNIC is how many pairs of queues the receiver's NIC has, and can have, and whether it asks for
// addresses that the kernel maps: virtio's VIRTIO_F_ACCESS_PLATFORM, without which virtio_net has
// no zero copy.
func labNIC(t *testing.T) (channels, most int, mapped bool) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave, err := guest.Enter(guest.NSReceiver)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	d, err := nic.Open(guest.Ends[0].Dev)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if c, err := d.Channels(); err == nil {
		channels, most = c.Combined, c.CombinedMax
	}
	const platform = 33
	bits, err := d.SysFile("device/features")
	return channels, most, err == nil && len(bits) > platform && bits[platform] == '1'
}

// labReceived holds a run against what it must be.
func labReceived(t *testing.T, r *results.Record, zero bool) {
	t.Helper()
	late := labLate(r) // what was received is right all the same
	if r.Verdict != results.OK && !late {
		t.Fatalf("%s: %s (%s)", r.Verdict, r.Reason, r.Fix)
	}
	p, said := r.SUT.Packets, -1.0
	for _, m := range r.SUT.Metrics {
		if m.Name == "xsk_zero_copy" {
			said = m.Value
		}
	}
	if (said == 1) != zero || said < 0 {
		t.Errorf("zero copy %v: the kernel says %v (XDP_OPTIONS)", zero, said)
	}
	if *p.Sent < 100 || *p.Received == 0 || *p.Received+*p.Lost != *p.Sent || *p.Corrupted+*p.Duplicated != 0 ||
		*r.SUT.Mismatches != 0 {
		t.Errorf("%s, %d bytes wrong", p.PacketsText(), *r.SUT.Mismatches)
	}
	if !late && (p.Unaccounted == nil || *p.Unaccounted != 0) {
		t.Errorf("%s, unaccounted %v: %+v, %+v, %q", p.PacketsText(), p.Unaccounted, p.Counted, r.TG.Packets.Counted,
			r.Warnings)
	}
	if b := r.SUT.ZeroCopyBytes; zero && (b == nil || *b != *r.SUT.Bytes) {
		t.Errorf("%v bytes without a copy, of %d", b, *r.SUT.Bytes)
	}
	t.Logf("%s, %s", p.PacketsText(), r.Reason)
}

// labRun is what zcbench run says of a run whose window was read in time. On a machine that
// emulates it takes seconds until the program is attached, and the sockets have their memory; on a
// busy one it takes more of them.
func labRun(t *testing.T, args ...string) (r results.Record) {
	t.Helper()
	for rampUp := 4 * time.Second; ; rampUp *= 3 {
		cmd := exec.Command("zcbench", append([]string{"run", "--sut", "netns:" + guest.NSReceiver, "--tg",
			"netns:" + guest.NSSender,
			"--tx", "udp", "--message-size", "64", "--mtu", "1500", "--pace", "1M", "--ramp-up", rampUp.String(),
			"--duration", (rampUp / 4).String(), "--ramp-down", "300ms",
			"--stall", "1m", "--sample-interval", "0", "--json", "--gate", "foreign_cores=off", "--gate", "replace=0"},
			args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		r = results.Record{}
		if jerr := json.Unmarshal(out, &r); jerr != nil {
			t.Fatalf("%q: %v: %v\n%s%s", args, err, jerr, out, &stderr)
		}
		if !labLate(&r) || rampUp > 30*time.Second {
			return r
		}
		t.Logf("%q: %s", args, r.Reason)
	}
}

// labLate tells a run whose window was read too late to measure anything.
func labLate(r *results.Record) bool {
	return strings.Contains(r.Reason, "its edges") ||
		strings.Contains(r.Reason, "no payload was transferred in the window")
}
