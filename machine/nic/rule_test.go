// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// A rule is for one flow alone, both addresses and both ports of it: with less, a driver that
// takes no such rule would get one that takes the flows of others too.
func TestRuleIsForOneFlow(t *testing.T) {
	at := netip.MustParseAddrPort
	for local, remote := range map[string]string{"10.0.0.1:5201": "10.0.0.2:40000",
		"[fd00::1]:5201": "[fd00::2]:40000"} {
		l, r := at(local), at(remote)
		fs := spec(l, r)
		var want []byte
		for _, part := range [][]byte{r.Addr().AsSlice(), l.Addr().AsSlice(), {0x9c, 0x40}, {0x14, 0x51}} {
			want = append(want, part...)
		}
		full := bytes.Repeat([]byte{0xff}, len(want))
		if got := fs.tuple(fs.want); !bytes.Equal(got, want) {
			t.Errorf("%s: for %x, want %x", local, got, want)
		}
		if !bytes.Equal(fs.tuple(fs.mask), full) || len(bytes.Trim(fs.mask[len(full):], "\x00")) > 0 {
			t.Errorf("%s: masks %x", local, fs.mask)
		}
	}
}

// A rule for IPv6 that is refused is told so: as a fact of idpf, and as what may be of the others.
func TestRefusedIPv6Rule(t *testing.T) {
	six, four := spec(netip.MustParseAddrPort("[fd00::1]:1"), netip.MustParseAddrPort("[fd00::2]:2")),
		spec(ruleLocal, ruleRemote)
	for _, c := range []struct {
		driver string
		fs     flowSpec
		errno  unix.Errno
		want   string
		not    string
	}{
		{"idpf", six, unix.EOPNOTSUPP, "idpf has rules for IPv4 only: use IPv4: leave out --ipv6", " may "},
		{"idpf", four, unix.EOPNOTSUPP, "match addresses and ports in full", "IPv4"},
		{"ice", six, unix.EOPNOTSUPP, "the driver may have no rules for IPv6", "IPv4 only"},
		{"ice", six, unix.EINVAL, "the driver may have no rules for IPv6", "IPv4 only"},
		{"ice", four, unix.EINVAL, "does not accept such a rule", "IPv6"},
	} {
		r := &ruler{fails: map[uint32]unix.Errno{unix.ETHTOOL_SRXCLSRLINS: c.errno}, times: map[uint32]int{}}
		info, err := json.Marshal(drvinfo{Driver: c.driver})
		if err != nil {
			t.Fatal(err)
		}
		file := &tape.File{Format: "zcbench-record", Version: 1, Dev: "lo",
			Answers: []tape.Answer{{Asked: "ioctl ETHTOOL_GDRVINFO", Got: info}}}
		_ = file.Replay(func() error {
			d := &Device{Name: "lo", Index: 1, ioctlFD: -1, driver: r.answer}
			if err := d.openReplay(); err != nil {
				t.Error(err)
			}
			defer d.Close()
			_, err := d.insert("steer on "+c.driver, c.fs, 0)
			if fix := fault.Fix(err); !errors.Is(err, c.errno) || !strings.Contains(fix, c.want) ||
				strings.Contains(fix, c.not) {
				t.Errorf("%s, %v: %v; fix: %s", c.driver, c.errno, err, fix)
			}
			return nil
		})
	}
}
