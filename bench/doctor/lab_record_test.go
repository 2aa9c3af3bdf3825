// SPDX-License-Identifier: MIT

package doctor_test

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/zc/labtest"
	"golang.org/x/sys/unix"
)

// alias is what an owner may call an interface.
const alias = "rack 7 of Example Inc, asset 4711"

// A record of a NIC, with each driver's ways, says after the trip through a file what the
// doctor says on the host itself, and has nothing in it by which the host is known. It comes
// out of the guest by zcbench lab exec --out.
func TestLabImitatedRecord(t *testing.T) {
	labtest.Need(t)
	f, err := labtest.In(labtest.RXNS, func() (*tape.File, error) {
		if err := setAlias(labtest.RXDev, alias); err != nil {
			return nil, err
		}
		defer setAlias(labtest.RXDev, "")
		return doctor.Record(labtest.RXDev)
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := labtest.In(labtest.RXNS, func() ([]wire.Ladder, error) { return doctor.Ladders(labtest.RXDev), nil })
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := f.Write(&text); err != nil {
		t.Fatal(err)
	}
	mustTellNothing(t, text.String())
	again, err := tape.Parse("record", text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	d, err := doctor.Replay(again) // in a namespace that has no such interface
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, d.Modes); diff != "" {
		t.Errorf("doctor (-here +replayed):\n%s", diff)
	}
	if d.Dev.Driver == "" || !d.Dev.Up || len(d.Checks) < 10 {
		t.Errorf("%+v, %d checks", d.Dev, len(d.Checks))
	}
	t.Logf("%d answers, %d bytes", len(f.Answers), text.Len())
	if out := os.Getenv("OUT"); out != "" {
		name := strings.NewReplacer("(", "-", ")", "").Replace(d.Dev.Driver)
		if err := os.WriteFile(filepath.Join(out, name+".json"), text.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func setAlias(dev, name string) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.Named(dev)
	if err != nil {
		return err
	}
	return c.Change(l.Index, func(ae *netlink.AttributeEncoder) { ae.String(unix.IFLA_IFALIAS, name) })
}

// mustTellNothing looks for what identifies the lab's host: as text, and as the kernel's bytes
// in hexadecimal.
func mustTellNothing(t *testing.T, text string) {
	t.Helper()
	text = strings.ToLower(text)
	never := map[string]string{"alias": alias, "alias, raw": hex.EncodeToString([]byte(alias)),
		"name, raw": hex.EncodeToString([]byte(labtest.RXDev))}
	_, err := labtest.In(labtest.RXNS, func() (struct{}, error) {
		all, err := net.Interfaces()
		for _, i := range all {
			if len(i.HardwareAddr) > 0 && i.Flags&net.FlagLoopback == 0 {
				never[i.Name+"'s MAC"], never[i.Name+"'s MAC, raw"] = i.HardwareAddr.String(),
					hex.EncodeToString(i.HardwareAddr)
			}
			addrs, _ := i.Addrs()
			for _, a := range addrs {
				ip := a.(*net.IPNet).IP
				if four := ip.To4(); four != nil {
					ip = four
				}
				if !ip.IsLoopback() {
					never[ip.String()], never[ip.String()+", raw"] = ip.String(), hex.EncodeToString(ip)
				}
			}
		}
		return struct{}{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil && unix.ByteSliceToString(u.Nodename[:]) != "(none)" {
		never["host's name"] = unix.ByteSliceToString(u.Nodename[:])
	}
	if len(never) < 3+2+4 {
		t.Fatalf("nothing to look for: %v", never)
	}
	for what, s := range never {
		if strings.Contains(text, strings.ToLower(s)) {
			t.Errorf("the record has the %s, %s, in it", what, s)
		}
	}
}
