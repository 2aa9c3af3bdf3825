// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// Segments that do not fit the MTU, or an interface without checksums, are what udp-gso cannot do
// here: no run failed. What is too long for any datagram is an error.
func TestGSOThatCannotBe(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EMSGSIZE, unix.EINVAL, unix.EIO} {
		err := (&sender{slots: &slots{size: 4000}, gso: true}).refused(&stream.Conn{}, errno)
		if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || u.Mode != "udp-gso" || u.How == "" ||
			!errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	err := (&sender{slots: &slots{size: 65507}}).refused(&stream.Conn{}, unix.EMSGSIZE)
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) || fault.Fix(err) == "" {
		t.Errorf("without GSO: %v", err)
	}
}
