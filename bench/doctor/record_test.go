// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/tape"
)

// On any host, a record of loopback says what the doctor says there, and needs no kernel: the
// interface is found whatever it is called here.
func TestRecordAndReplay(t *testing.T) {
	f, err := Record("lo")
	if err != nil {
		t.Fatal(err)
	}
	live := Ladders("lo")
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := tape.Parse("f", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Replay(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, d.Modes); diff != "" {
		t.Errorf("-here +replayed:\n%s", diff)
	}
	again.Dev = "no-such-here"
	if d, err := Replay(again); err != nil || d.Dev.Name != "no-such-here" || len(d.Modes) != len(live) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := Record("no-such-here"); err == nil {
		t.Error("a record of no interface")
	}
}

// A record that has an address of its host in it is not handed out.
func TestMustBeAnonymous(t *testing.T) {
	file := func(got string) *tape.File {
		f, err := tape.Record(func() error {
			_, err := tape.Ask("x", func() (string, error) { return got, nil })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	mac := identity{"a MAC address", []string{"02:42:ac:11:07:09"}, distinct([]byte{2, 0x42, 0xac, 0x11, 7, 9})}
	ip := identity{"an IP address", []string{"192.0.2.1"}, nil}
	for got, bad := range map[string]bool{
		"at 02:42:AC:11:07:09": true, "ff0242ac110709ff": true, "to 192.0.2.1.": true, "to 192.0.2.1 ": true, "1192.0.2.1": false, "192.0.2.10": false, "nothing": false,
	} {
		if err := mustBeAnonymous(file(got), []identity{mac, ip}); (err != nil) != bad {
			t.Errorf("%q: %v", got, err)
		}
	}
	if distinct([]byte{2, 0, 0, 0, 0, 1}) != nil {
		t.Error("an address that tables of numbers have by chance")
	}
	if nameOf("eth0") != "eth0" || nameOf("enx0242ac110709") != "nic0" {
		t.Error("names of interfaces")
	}
}

// Whatever a file that reads as a record holds, the doctor says something of it or refuses it.
func FuzzReplay(f *testing.F) {
	files, err := filepath.Glob("testdata/records/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recorded NICs: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := tape.Parse("f", text)
		if err != nil {
			return
		}
		d, err := Replay(r)
		if err != nil {
			return
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
	})
}
