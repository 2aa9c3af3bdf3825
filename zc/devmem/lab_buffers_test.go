// SPDX-License-Identifier: MIT

package devmem_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"golang.org/x/sys/unix"
)

// hasBuffers tells whether the lab's kernel lets a binding choose the length of its buffers.
// One from 7.3 on must.
func hasBuffers(t *testing.T) bool {
	t.Helper()
	labtest.Need(t)
	err := nic.CanSizeBuffers()
	if err != nil && !errors.Is(err, unix.EINVAL) {
		t.Fatal(err)
	}
	var u unix.Utsname
	if uerr := unix.Uname(&u); uerr != nil {
		t.Fatal(uerr)
	}
	var major, minor int
	release := unix.ByteSliceToString(u.Release[:])
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		t.Fatalf("release %q", release)
	}
	if has := major > 7 || major == 7 && minor >= 3; has != (err == nil) {
		t.Fatalf("Linux %s: %v", release, err)
	}
	return err == nil
}

// provided are the bytes of payload that the soft NIC wrote into buffers of a provider, and
// how many buffers.
func provided(t *testing.T, queue int) (bytes, bufs uint64) {
	t.Helper()
	all, err := labtest.OnDevice((*nic.Device).Stats)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("rx%d_provider_", queue)
	return all[name+"bytes"], all[name+"bufs"]
}

// Payload comes in buffers of the length that was asked for: each is filled to more than half,
// which none of half the length could be, and the fragments that the application gets are as
// long. A kernel before 7.3 refuses, before anything is set on the NIC, and a page is a page on
// all of them.
func TestLabBuffers(t *testing.T) {
	has := hasBuffers(t)
	for _, x := range []struct {
		bufLen int
		family string
		area   string
	}{{4096, "ipv4", ""}, {16 << 10, "ipv6", ""}, {16 << 10, "ipv4", dmabuf.Huge}, {32 << 10, "ipv4", ""}} {
		t.Run(fmt.Sprint(x.bufLen, x.area, x.family), func(t *testing.T) {
			q := stream.NICQueue{BufLen: x.bufLen, Area: x.area, AreaBytes: 32 << 20}
			if x.bufLen > 4096 && !has {
				mustRefuseBuffers(t, q)
				return
			}
			if x.bufLen > 4096 {
				labtest.AwaitHugePages(t, q.AreaBytes)
			}
			bytes, bufs := provided(t, 3)
			o := mustBeZeroCopy(t, labtest.Transfer{Family: x.family, Bytes: 40 << 20, NIC: q,
				Setup: labtest.HWGRO(t, true)})
			afterBytes, afterBufs := provided(t, 3)
			bytes, bufs = afterBytes-bytes, afterBufs-bufs
			filled := float64(bytes) / float64(bufs)
			piece := float64(o.Counters.Bytes) / o.Figure("devmem_frags")
			t.Logf("%d bytes in %d buffers of the provider, %.0f each; fragments of %.0f bytes", bytes, bufs, filled,
				piece)
			if bytes < o.Counters.Bytes || filled <= float64(x.bufLen)/2 || filled > float64(x.bufLen) ||
				piece <= float64(x.bufLen)/2 || piece > float64(x.bufLen) {
				t.Errorf("%d bytes of a flow of %d in %d buffers, fragments of %.0f bytes; asked for buffers of %d",
					bytes, o.Counters.Bytes, bufs, piece, x.bufLen)
			}
			if got := o.Figure("devmem_buffer_bytes"); got != float64(x.bufLen) {
				t.Errorf("it says %v", got)
			}
		})
	}
}

// mustRefuseBuffers is what a kernel that knows no lengths says.
func mustRefuseBuffers(t *testing.T, q stream.NICQueue) {
	t.Helper()
	_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: q})
	if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || !errors.Is(err, unix.EINVAL) ||
		!labtest.Contains(err, fmt.Sprintf("receive buffers of %d bytes", q.BufLen)) ||
		!labtest.Contains(err, "Unknown attribute type") || !strings.Contains(fault.Fix(err), "Linux 7.3") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	t.Logf("%v; fix: %s", err, fault.Fix(err))
}

// What memory or driver does not allow says so: memory in pieces, and what the driver that
// the soft NIC imitates refuses, with an errno and no text, or with the core's.
func TestLabImitatedBuffers(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	if !hasBuffers(t) {
		t.Log("this kernel knows pages only: TestLabBuffers has what it says")
		return
	}
	type refusal struct {
		q         stream.NICQueue
		want, fix string
	}
	cases := map[string]refusal{
		"pieces too short": {stream.NICQueue{BufLen: 64 << 10, Area: dmabuf.Udmabuf, AreaBytes: 64 << 20},
			"not aligned to niov", "--area huge"},
	}
	switch model, _ := os.ReadFile("/sys/module/softnic/parameters/imitate"); strings.TrimSpace(string(model)) {
	case "bnxt":
		cases["too long"] = refusal{stream.NICQueue{BufLen: 64 << 10, AreaBytes: 64 << 20},
			"the driver does not support receive buffers of 65536 bytes", "choose at most --rx-buf-len 32768"}
	case "fbnic":
		cases["only pages"] = refusal{stream.NICQueue{BufLen: 8 << 10, AreaBytes: 32 << 20},
			"device does not support: rx_page_size", "leave out --rx-buf-len: this driver supports only pages"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.q.Area == dmabuf.Udmabuf {
				labtest.MemoryInPieces(t)
			} else {
				labtest.AwaitHugePages(t, c.q.AreaBytes)
			}
			_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: c.q, Setup: labtest.HWGRO(t, true)})
			if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || !labtest.Contains(err, c.want) ||
				!strings.Contains(fault.Fix(err), c.fix) {
				t.Errorf("%v; fix: %s", err, fault.Fix(err))
			}
			t.Logf("%v; fix: %s", err, fault.Fix(err))
		})
	}
}
