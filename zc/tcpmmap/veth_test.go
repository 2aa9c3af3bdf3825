// SPDX-License-Identifier: MIT

package tcpmmap_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/zc/msgzc"
)

func plain(o stream.Options) (stream.Sender, error)    { return baseline.NewTCPSender(o) }
func sendfile(o stream.Options) (stream.Sender, error) { return baseline.NewSendfileSender(o) }
func zerocopy(o stream.Options) (stream.Sender, error) { return msgzc.New(o) }

// Over veth, payload is mapped if the sender's pages are: a copy on delivery,
// which msg-zerocopy meets with, fills pages. Nothing of what send and sendfile
// give can be mapped, and the receiver says why.
func TestIntegrationVeth(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	for _, x := range []struct {
		name      string
		sender    func(stream.Options) (stream.Sender, error)
		addr      string
		opt       stream.Options
		dev       bool
		low, high float64 // bounds of the mapped share
		why       string  // of what was copied
	}{
		{"pages", zerocopy, pair.SUT.IPv4.String(), stream.Options{}, false, 0.97, 1, ""},
		{"pages, interface named", zerocopy, pair.SUT.IPv4.String(), stream.Options{}, true, 0.97, 1, ""},
		{"small windows", zerocopy, pair.SUT.IPv4.String(), stream.Options{ReadBytes: 8192}, false, 0.9, 1, ""},
		{"segments of 4076 bytes", zerocopy, pair.SUT.IPv6.String(), stream.Options{}, false, 0.5, 0.99,
			"segments carry 4076 bytes"},
		{"messages that are no pages", zerocopy, pair.SUT.IPv4.String(), stream.Options{MessageBytes: 1<<20 + 7}, false,
			0.5, 1, "part of the payload did not fill whole pages: messages end inside a page, or the buffers of"},
		// where memory is in pieces, send uses single pages too
		{"send", plain, pair.SUT.IPv4.String(), stream.Options{}, false, 0, 0.5, "veth has no hardware"},
		{"sendfile", sendfile, pair.SUT.IPv6.String(), stream.Options{}, true, 0, 0.5, "veth has no hardware"},
		{"short messages", plain, pair.SUT.IPv6.String(), stream.Options{MessageBytes: 1000}, false, 0, 0.5,
			"veth has no hardware"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.dev {
				x.opt.NIC.Dev = pair.SUT.Dev
			}
			o := flow{rx: pair.SUT.Netns.Do, tx: pair.TG.Netns.Do, addr: x.addr, opt: x.opt, newSender: x.sender,
				bytes: 32 << 20}.run(t)
			if o.mapped() < x.low || o.mapped() > x.high {
				t.Errorf("%.2f %% mapped, want %g..%g", 100*o.mapped(), 100*x.low, 100*x.high)
			}
			if o.counters.CopiedBytes > o.counters.Bytes/100 && !strings.Contains(o.evidence.Why, x.why) {
				t.Errorf("%d bytes copied: %q, want %q", o.counters.CopiedBytes, o.evidence.Why, x.why)
			}
		})
	}
}

// Wrong payload is found also in pages that are mapped: of those nothing is copied
// that could be looked at on the way.
func TestIntegrationVethCorrupt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	page := func(p *stream.Payload, i int) []byte { return p.Memory()[i*4096 : (i+1)*4096] }
	for name, x := range map[string]struct {
		corrupt func(*stream.Payload)
		first   uint64 // wrong byte
	}{
		"a bit": {func(p *stream.Payload) { p.Memory()[123_456] ^= 8 }, 123_456},
		"pages swapped": {func(p *stream.Payload) {
			a := slices.Clone(page(p, 7))
			copy(page(p, 7), page(p, 21))
			copy(page(p, 21), a)
		}, 7 * 4096},
		"a page twice":       {func(p *stream.Payload) { copy(page(p, 12), page(p, 11)) }, 12 * 4096},
		"a page is missing":  {func(p *stream.Payload) { m := p.Memory(); copy(m[30*4096:], m[31*4096:]) }, 30 * 4096},
		"shifted by a byte":  {func(p *stream.Payload) { m := p.Memory(); copy(m[1:], m) }, 0},
		"a page of nothing":  {func(p *stream.Payload) { clear(page(p, 60)) }, 60 * 4096},
		"a page's last byte": {func(p *stream.Payload) { page(p, 3)[4095]++ }, 4*4096 - 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := flow{rx: pair.SUT.Netns.Do, tx: pair.TG.Netns.Do, addr: pair.SUT.IPv4.String(), newSender: zerocopy,
				bytes: 16 << 20, corrupt: x.corrupt}.run(t)
			if o.mapped() < 0.9 {
				t.Errorf("%.2f %% mapped: this shows nothing", 100*o.mapped())
			}
			if c := o.counters; c.Mismatches == 0 || c.FirstMismatch < x.first+1 || c.FirstMismatch > x.first+64 {
				t.Errorf("%d wrong bytes, the first at %d, want %d", c.Mismatches, c.FirstMismatch-1, x.first)
			}
		})
	}
}
