// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// A tag that does not fit is a wrong key before payload, and makes a run invalid after some.
func TestVerdictOfDamage(t *testing.T) {
	bad := fmt.Errorf("flow 1: TLS record 7: %w", unix.EBADMSG)
	for _, x := range []struct {
		err   error
		bytes int
		want  results.Verdict
	}{
		{bad, 0, results.Failed}, {bad, 16384, results.Invalid}, {unix.ECONNRESET, 16384, results.Failed},
		{&fault.Unsupported{Mode: "tls ktls", Op: "look", Err: unix.ENOENT}, 0, results.Unsupported},
	} {
		f := &flow{}
		f.Meter.Bytes(x.bytes)
		if got := (&run{died: f}).verdictOf(x.err); got != x.want {
			t.Errorf("%v after %d bytes: %s, want %s", x.err, x.bytes, got, x.want)
		}
	}
	if got := (&run{}).verdictOf(bad); got != results.Failed {
		t.Errorf("no flow died: %s", got)
	}
}

// An end whose kernel has no kTLS says what to load, and loads nothing.
func TestKernelEncrypts(t *testing.T) {
	if err := errors.Join(kernelEncrypts(stream.Options{}),
		kernelEncrypts(stream.Options{TLS: records.User})); err != nil {
		t.Error(err)
	}
	before := records.Loaded()
	err := kernelEncrypts(stream.Options{TLS: records.Kernel})
	var u *fault.Unsupported
	if before != (err == nil) || err != nil &&
		(!errors.As(err, &u) || !strings.Contains(fault.Fix(err), "modprobe tls")) ||
		records.Loaded() != before {
		t.Errorf("loaded %v: %v (%s)", before, err, fault.Fix(err))
	}
}

// An interface is asked once, also after one that failed; others are asked too.
func TestAsksEachInterfaceOnce(t *testing.T) {
	a, asked, fails := new(versions), 0, error(unix.ETIMEDOUT)
	ask := func() (records.Version, error) { asked++; return records.TLS12, fails }
	if _, err := a.of("eth0", ask); !errors.Is(err, unix.ETIMEDOUT) {
		t.Error(err)
	}
	fails = nil
	for _, dev := range []string{"eth0", "eth0", "eth1", "eth0"} {
		if v, err := a.of(dev, ask); v != records.TLS12 || err != nil {
			t.Errorf("%s: %v, %v", dev, v, err)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}
