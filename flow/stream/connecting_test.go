// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// A link-local address without an interface: both ends say how to write it.
func TestLinkLocalWithoutZone(t *testing.T) {
	_, _, err := stream.Dial(await.Context(t), "[fe80::77:1]:5201", helloOf(stream.Cookie{}), sock.Options{})
	if !errors.Is(err, unix.EINVAL) || !strings.Contains(fault.Fix(err), "write fe80::77:1%DEV") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	_, err = stream.Listen("[fe80::77:1]:0", stream.NewCookie(), sock.Options{})
	if !errors.Is(err, unix.EINVAL) || !strings.Contains(fault.Fix(err), "write fe80::77:1%DEV") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
	_, _, err = stream.Dial(await.Context(t), "[fe80::77:1%nosuch0]:5201", helloOf(stream.Cookie{}), sock.Options{})
	if err == nil || !strings.Contains(fault.Fix(err), "no interface nosuch0") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

// One controller has begun both ends: that one listens is known, and what is then refused is so by
// something between.
func TestRefusedTogether(t *testing.T) {
	var err error
	limit := 50 * time.Millisecond
	await.Until(t, "there is time for an attempt", func() bool {
		limit *= 2
		_, _, err = stream.Dial(stream.Together(await.Ending(t, limit)), freeAddr(t), helloOf(stream.Cookie{}),
			sock.Options{})
		return !errors.Is(err, context.DeadlineExceeded) // in the middle of the first
	})
	if !errors.Is(err, unix.ECONNREFUSED) || fault.BlamesPeer(err) || !strings.Contains(fault.Fix(err), "firewall") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}
