// SPDX-License-Identifier: MIT

package tcpmmap

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

func TestExplain(t *testing.T) {
	on := nic.HeaderSplit{State: nic.SplitOn}
	page := 4096
	for _, x := range []struct {
		name     string
		o        observed
		mostly   bool
		why, fix string
	}{
		{"veth, nothing", observed{dev: "v0", link: "veth", splitErr: unix.EOPNOTSUPP, segment: page, overhead: 52},
			false, "veth has no hardware", "MTU 4148"},
		{"veth, IPv6 segments", observed{dev: "v0", link: "veth", splitErr: unix.EOPNOTSUPP, segment: 4076,
			overhead: 72}, true, "segments carry 4076 bytes", "ip link set dev v0 mtu 4168"},
		{"driver without split", observed{dev: "eth0", splitErr: unix.EOPNOTSUPP, segment: 1448, overhead: 52}, false,
			"headers are not split from payload: operation not supported", "a NIC with header split"},
		{"split off", observed{dev: "eth0", split: nic.HeaderSplit{State: nic.SplitOff, Threshold: -1}, segment: page,
			overhead: 52}, false, "headers are not split from payload on eth0: tcp-data-split off",
			"ethtool -G eth0 tcp-data-split on"},
		{"MTU 1500", observed{dev: "eth0", split: on, segment: 1448, overhead: 52}, false,
			"segments carry 1448 bytes, which does not fill pages of 4096", "mtu 4148"},
		{"no timestamps", observed{dev: "eth0", split: on, segment: 1460, overhead: 40}, false, "segments carry 1460",
			"mtu 4136"},
		{"threshold", observed{dev: "eth0", split: nic.HeaderSplit{State: nic.SplitOn, Threshold: 512}, segment: page,
			overhead: 52}, true, "packets up to 512 bytes", "ethtool -G eth0 tcp-data-split on hds-thresh 0"},
		{"half pages", observed{dev: "eth0", split: on, rings: nic.Rings{RX: 1024, RXBufLen: 2048}, segment: page,
			overhead: 52}, true, "receive buffers of eth0 have 2048 bytes", "ethtool -G eth0 rx-buf-len 4096"},
		{"the driver's buffers", observed{dev: "eth0", split: on, segment: 2 * page, overhead: 52}, false,
			"the buffers of eth0 are not single pages", "MTU 4148"},
		{"no interface found", observed{splitErr: unix.ENODEV, overhead: 52}, false, "no such device", "MTU 4148"},
	} {
		if why, fix := x.o.explain(x.mostly); !strings.Contains(why, x.why) || !strings.Contains(fix, x.fix) {
			t.Errorf("%s: %q, fix %q; want %q and %q", x.name, why, fix, x.why, x.fix)
		}
	}
}

func TestPages(t *testing.T) {
	for n, want := range map[int]int{1: pageBytes, pageBytes: pageBytes, pageBytes + 1: 2 * pageBytes} {
		if got := pages(n); got != want {
			t.Errorf("%d bytes: %d, not %d", n, got, want)
		}
	}
}

// The probe says yes where the kernel maps payload, which is anywhere since Linux
// 4.18. Where a call is refused it says no, which call that was, and what to do.
func TestProbe(t *testing.T) {
	if err := probe(); err != nil {
		t.Error(err)
	}
	refused := func(errno unix.Errno) error {
		err := remedytest.Denied(unix.SYS_GETSOCKOPT, probe)(errno)
		if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || u.Mode != mode {
			t.Errorf("%v", err)
		}
		return err
	}
	remedytest.Try(t, remedy.MapReceive, "getsockopt TCP_ZEROCOPY_RECEIVE", refused, unix.EINTR)
	if fix := fault.Fix(refused(unix.ENOPROTOOPT)); !strings.Contains(fix, "4.18") {
		t.Error(fix)
	}
	remedytest.Try(t, remedy.MapTCP, "mmap of a TCP socket", remedytest.DeniedIf(unix.SYS_MMAP, 1, uint32(pageBytes),
		probe), unix.EINTR)
}
