// SPDX-License-Identifier: MIT

package nic

import (
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
)

func TestPayloadRing(t *testing.T) {
	for _, x := range []struct {
		model       string
		r           Rings
		mtu, buf    int
		want        int
		most        int
		wantCommand string
	}{
		{"softnic", Rings{RX: 512}, 9000, 4096, 512, 128, "ethtool -G e rx 128"},
		{"", Rings{RX: 512}, 1500, 4096, 512, 128, "ethtool -G e rx 128"},
		// bnxt: 4 for each, at once and before headers are split
		{"bnxt_en", Rings{RX: 511, RXJumbo: 2044}, 1500, 4096, 2044, 511, "ethtool -G e rx 127"},
		{"bnxt_en", Rings{RX: 511}, 1500, 4096, 2044, 511, "ethtool -G e rx 127"},
		{"bnxt_en", Rings{RX: 8191}, 1500, 4096, 8188, 2047, "ethtool -G e rx 2047"},
		// fbnic: the payload ring
		{"fbnic", Rings{RX: 1024, RXJumbo: 256}, 1500, 4096, 256, 64, "ethtool -G e rx-jumbo 64"},
		// mlx5: strides of the next power of two
		{"mlx5_core", Rings{RX: 1024}, 9000, 4096, 4096, 1024, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 9000, 65536, 256, 64, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 4148, 4096, 2048, 512, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 1500, 4096, 512, 128, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 2000, 4096, 1024, 256, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 4000, 4096, 2048, 512, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 1024}, 8000, 4096, 4096, 1024, "ethtool -G e rx 256"},
		{"mlx5_core", Rings{RX: 64}, 1500, 4096, 256, 64, "ethtool -G e rx 16"},
		// gve: two short ones share a page
		{"gve", Rings{RX: 1024, RXBufLen: 4096}, 1500, 4096, 1024, 256, "ethtool -G e rx 256"},
		{"gve", Rings{RX: 1024, RXBufLen: 2048}, 1500, 4096, 512, 128, "ethtool -G e rx 256"},
		{"bnxt_en", Rings{RX: 511, RXJumbo: 2044}, 1500, 32768, 255, 63, "ethtool -G e rx 126"},
	} {
		got := payloadRing(driver.Of(x.model), x.r, x.mtu, x.buf)
		if got.Buffers != x.want {
			t.Errorf("%s %+v MTU %d: %d buffers of %d, want %d", x.model, x.r, x.mtu, got.Buffers, x.buf, x.want)
		}
		if c := got.Most("e", x.most); c != x.wantCommand {
			t.Errorf("%s %+v: %s, want %s", x.model, x.r, c, x.wantCommand)
		}
	}
}

func TestModel(t *testing.T) {
	for name, want := range map[string]string{"mlx5_core": "mlx5_core", "softnic": "softnic",
		"softnic(mlx5)": "mlx5_core", "softnic(bnxt)": "bnxt_en", "softnic(fbnic)": "fbnic", "softnic(gve)": "gve",
		"softnic(virtio-like)": "virtio_net",
		"softnic(idpf)":        "idpf", "softnic(ice)": "ice", "softnic(gve-old)": "gve",
		"softnic(bnxt-old)": "bnxt_en",
		"softnic(x)":        "", "": ""} {
		if got := (Driver{Name: name}).Model(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestRulePlace(t *testing.T) {
	for _, x := range []struct {
		t    ruleTable
		want uint32
		ok   bool
	}{
		{ruleTable{size: 4}, 3, true},
		{ruleTable{size: 4, places: []uint32{3, 1}}, 2, true},
		{ruleTable{size: 2, places: []uint32{0, 1}}, 0, false},
		{ruleTable{}, ruleAnyPlace, true},
	} {
		if at, ok := x.t.free(); at != x.want || ok != x.ok {
			t.Errorf("%+v: %d, %v", x.t, at, ok)
		}
	}
}
