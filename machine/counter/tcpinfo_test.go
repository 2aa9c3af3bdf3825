// SPDX-License-Identifier: MIT

package counter

import (
	"net"
	"os"
	"testing"
	"unsafe"
)

func socketFD(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var fd int
	if err := raw.Control(func(f uintptr) { fd = int(f) }); err != nil {
		t.Fatal(err)
	}
	return fd // valid until the test closes c
}

// The offsets are those of struct tcp_info on 64-bit machines.
func TestTCPInfoLayout(t *testing.T) {
	var ti tcpInfo
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"rto", unsafe.Offsetof(ti.RTO), 8}, {"total_retrans", unsafe.Offsetof(ti.TotalRetrans), 100},
		{"pacing_rate", unsafe.Offsetof(ti.PacingRate), 104}, {"segs_out", unsafe.Offsetof(ti.SegsOut), 136},
		{"delivery_rate", unsafe.Offsetof(ti.DeliveryRate), 160}, {"bytes_sent", unsafe.Offsetof(ti.BytesSent), 200},
		{"rcv_ooopack", unsafe.Offsetof(ti.RcvOOOPack), 224}, {"rcv_wnd", unsafe.Offsetof(ti.RcvWnd), 232},
		{"total_rto_time", unsafe.Offsetof(ti.TotalRTOTime), 244}, {"received_ce", unsafe.Offsetof(ti.ReceivedCE), 248},
		{"received_ce_bytes", unsafe.Offsetof(ti.ReceivedCEBytes), 272}, {"size", unsafe.Sizeof(ti), 280},
	} {
		if f.got != f.want {
			t.Errorf("%s at %d, want %d", f.name, f.got, f.want)
		}
	}
}

func TestReadTCPInfo(t *testing.T) {
	const n = 1 << 20
	c, a := exchange(t, n)
	before, err := ReadTCPInfo(socketFD(t, a))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := before.Get("bytes_received"); !ok || v != n {
		t.Errorf("bytes_received = %d, %v; want %d", v, ok, n)
	}
	if v, _ := before.Get("state"); v != 1 {
		t.Errorf("state = %d, want 1 (established)", v)
	}
	if mss, _ := before.Get("advmss"); mss < 500 || before.Congestion == "" {
		t.Errorf("advmss %d, congestion control %q", mss, before.Congestion)
	}
	send(t, c, a, 5000)
	after, err := ReadTCPInfo(socketFD(t, a))
	if err != nil {
		t.Fatal(err)
	}
	d := tcpInfoBetween(before, after)
	if v, _ := d.Get("bytes_received"); v != 5000 {
		t.Errorf("bytes_received grew by %d, want 5000", v)
	}
	if v, _ := d.Get("advmss"); v == 0 {
		t.Error("a gauge was subtracted")
	}
}

func TestReadTCPInfoRefuses(t *testing.T) {
	if _, err := ReadTCPInfo(-1); err == nil {
		t.Error("a wrong descriptor did not fail")
	}
	f, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReadTCPInfo(int(f.Fd())); err == nil {
		t.Error("a folder did not fail")
	}
}

// A kernel that answers less reports less, and no zeros in its place.
func TestTCPInfoShortAnswer(t *testing.T) {
	ti := tcpInfo{TotalRetrans: 7, BytesAcked: 9, RcvOOOPack: 3}
	for _, tt := range []struct {
		n    uintptr
		has  []string
		not  []string
		name string
	}{
		{104, []string{"total_retrans"}, []string{"pacing_rate", "bytes_acked"}, "2.6"},
		{232, []string{"bytes_acked", "rcv_ooopack", "snd_wnd"}, []string{"rcv_wnd", "received_ce"}, "6.1"},
		{228, []string{"rcv_ooopack"}, []string{"snd_wnd"}, "5.4"},
		{280, []string{"received_ce_bytes"}, nil, "6.18"},
	} {
		got := TCPInfo{Fields: decodeTCPInfo(&ti, tt.n)}
		for _, f := range tt.has {
			if _, ok := got.Get(f); !ok {
				t.Errorf("%s: no %s", tt.name, f)
			}
		}
		for _, f := range tt.not {
			if v, ok := got.Get(f); ok {
				t.Errorf("%s: %s = %d, but the kernel did not say so", tt.name, f, v)
			}
		}
	}
}

func TestTCPInfoBetweenWraps(t *testing.T) {
	f := func(v uint64, bits int) TCPInfo {
		return TCPInfo{Fields: []TCPField{{"x", "packets", v, counted, bits}}}
	}
	for _, tt := range []struct {
		before, after uint64
		bits          int
		want          uint64
	}{{5, 9, 32, 4}, {1<<32 - 1, 4, 32, 5}, {1<<16 - 1, 1, 16, 2}, {1<<64 - 1, 1, 64, 2}} {
		if v, _ := tcpInfoBetween(f(tt.before, tt.bits), f(tt.after, tt.bits)).Get("x"); v != tt.want {
			t.Errorf("%d to %d in %d bits: %d, want %d", tt.before, tt.after, tt.bits, v, tt.want)
		}
	}
	if d := tcpInfoBetween(TCPInfo{}, f(5, 32)); len(d.Fields) != 0 {
		t.Errorf("a counter without a beginning: %+v", d.Fields)
	}
}
