// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

func TestSizeFor(t *testing.T) {
	for _, c := range []struct{ entries, page, hold, want int }{
		{4096, 4096, 0, 64 << 20}, // the reference experiment
		{512, 4096, 0, 8 << 20},
		{512, 4096, 1, 8<<20 + 4096},
		{512, 4096, 48 << 20, 56 << 20},
		{64, 65536, 0, 16 << 20},
	} {
		if n := SizeFor(c.entries, c.page, c.hold); n != c.want {
			t.Errorf("%+v: %d", c, n)
		}
	}
}

func TestCheckSize(t *testing.T) {
	if err := CheckSize(2<<20, 512, 4096, "eth0", ""); err != nil {
		t.Error(err)
	}
	err := CheckSize(2<<20-4096, 512, 4096, "eth0", "ethtool -G eth0 rx 127")
	var e *fault.Error
	if !errors.Is(err, ErrRing) || !errors.As(err, &e) || !strings.Contains(e.Fix(), "--area-size 2097152") ||
		!strings.Contains(e.Fix(), "ethtool -G eth0 rx 127") {
		t.Errorf("%v", err)
	}
}
