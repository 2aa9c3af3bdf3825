// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// A file that is not known to be harmless is read, and not written down; an error names no
// path of the host.
func TestRecordedFile(t *testing.T) {
	read := func() (string, error) { return "00:11:22:33:44:55", nil }
	missing := func() (string, error) {
		return "", &os.PathError{Op: "open", Path: "/sys/class/net/enx001122334455/speed", Err: unix.EINVAL}
	}
	f, err := tape.Record(func() error {
		if s, err := recordedFile("address", read); s == "" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
		if _, err := recordedFile("speed", missing); err != unix.EINVAL {
			t.Errorf("%v", err)
		}
		return nil
	})
	if err != nil || len(f.Answers) != 1 || f.Answers[0].Asked != "sysfs speed" || f.Answers[0].Failed.Text != "" {
		t.Fatalf("%+v, %v", f, err)
	}
	err = f.Replay(func() error {
		_, err := recordedFile("address", read)
		return err
	})
	if !errors.Is(err, tape.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
}

// The answer to an ioctl is put where the kernel would have written it, and no longer than that.
func TestRecordedIoctl(t *testing.T) {
	c := rxnfc{cmd: unix.ETHTOOL_GRXCLSRLCNT}
	ask := func(b []byte, answer byte) error {
		return recordedIoctl(b, func() error { b[16] = answer; return nil })
	}
	number := func(n int) []byte {
		b := make([]byte, n)
		b[0] = byte(c.cmd)
		return b
	}
	f, err := tape.Record(func() error { return ask(number(200), 5) })
	if err != nil || len(f.Answers) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	err = f.Replay(func() error {
		b := number(200)
		if err := ask(b, 9); err != nil || b[16] != 5 || len(b) != 200 || b[199] != 0 {
			t.Errorf("%v, %v", b[:20], err)
		}
		return ask(number(8), 9)
	})
	if err == nil {
		t.Error("an answer of 17 bytes went into 8")
	}
}

// Where a NIC sits is told as PCI numbers it, and in no other way.
func TestDrvinfoOf(t *testing.T) {
	for bus, want := range map[string]string{"0000:3b:00.0": "0000:3b:00.0", "f8615163-df3e-46c5": "",
		"usb-SERIAL": ""} {
		var i unix.EthtoolDrvinfo
		copy(i.Bus_info[:], bus)
		_, err := tape.Record(func() error {
			if d := drvinfoOf(&i); d.Bus != want {
				t.Errorf("%s: %q", bus, d.Bus)
			}
			return nil
		})
		if err != nil || drvinfoOf(&i).Bus != bus {
			t.Errorf("%s: %v", bus, err)
		}
	}
}
