// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
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
	mac := identity{what: "a MAC address", text: []string{"02:42:ac:11:07:09"},
		raw: distinct([]byte{2, 0x42, 0xac, 0x11, 7, 9})}
	ip := identity{what: "an IP address", text: []string{"192.0.2.1"}}
	for got, bad := range map[string]bool{
		"at 02:42:AC:11:07:09": true, "ff0242ac110709ff": true, "to 192.0.2.1.": true, "to 192.0.2.1 ": true,
		hex.EncodeToString([]byte("02:42:ac:11:07:09")): true, hex.EncodeToString([]byte("wlx00c0ca123456\x00")): true,
		"open wlx00c0ca123456: no": true, "1192.0.2.1": false, "192.0.2.10": false, "nothing": false,
	} {
		if err := mustBeAnonymous(file(got), []identity{mac, ip, named("wlx00c0ca123456")}); (err != nil) != bad {
			t.Errorf("%q: %v", got, err)
		}
	}
	if distinct([]byte{2, 0, 0, 0, 0, 1}) != nil {
		t.Error("an address that tables of numbers have by chance")
	}
	for dev, want := range map[string]string{"eth0": "eth0", "eth0.100": "eth0.100", "enp59s0f0np0": "enp59s0f0np0",
		"enx0242ac110709": "nic0", "br-0123456789ab": "nic0", "$(reboot)": "nic0", "-e": "nic0", "a;b": "nic0"} {
		if got := nameOf(dev); got != want {
			t.Errorf("%s is called %s, want %s", dev, got, want)
		}
	}
}

// Whatever a record says instead of one of its answers, the doctor says something of it, or
// refuses it.
func TestReplayOfNonsense(t *testing.T) {
	one := "softnic-mlx5" // which has all that is read
	names, err := filepath.Glob("testdata/records/*.json")
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, one) }) {
		t.Fatalf("no recorded NICs: %v", err)
	}
	said := 0
	for _, name := range names {
		if !strings.Contains(name, one) && !long.Wanted() {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := tape.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range whole.Answers {
			for _, b := range nonsense(a) {
				f := *whole
				f.Answers = slices.Clone(whole.Answers)
				f.Answers[i] = b
				if f.Check() == nil && replayed(t, &f, b) {
					said++
				}
			}
		}
	}
	if said < 100 {
		t.Errorf("it said something of %d records: the others are of another form than it reads", said)
	}
}

// nonsense is what could be answered instead.
func nonsense(a tape.Answer) (all []tape.Answer) {
	bytesOf := regexp.MustCompile(`[0-9a-f]{8,}`)
	got := []string{"null", "[]", "[[]]", `""`, "0", "-1", "4294967295", "9223372036854775807", "true", "{}", `[""]`,
		`["ff"]`, `"ff"`}
	if a.Failed == nil && bytesOf.Match(a.Got) {
		each := func(f func(string) string) { got = append(got, bytesOf.ReplaceAllStringFunc(string(a.Got), f)) }
		each(func(s string) string { return strings.Repeat("f", len(s)) })
		each(func(s string) string { return strings.Repeat("0", len(s)) })
		each(func(s string) string { return s[:4] + strings.Repeat("f", len(s)-4) })
		each(func(s string) string { return s[:8] + strings.Repeat("f", len(s)-8) })
		each(func(s string) string { return s[:len(s)/4*2] })
		each(func(s string) string { return s + s })
	}
	for _, g := range got {
		all = append(all, tape.Answer{Asked: a.Asked, Got: json.RawMessage(g)})
	}
	for _, errno := range []unix.Errno{unix.EPERM, unix.EINVAL, unix.EOPNOTSUPP} {
		all = append(all, tape.Answer{Asked: a.Asked, Failed: &tape.Failure{Kind: "netlink", Op: "receive",
			Errno: int(errno)}})
	}
	return append(all, tape.Answer{Asked: a.Asked}, tape.Answer{Asked: "nothing"})
}

// replayed reports whether the doctor says something of a record, one answer of which is b.
func replayed(t *testing.T, f *tape.File, b tape.Answer) bool {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%.200q, got %.200q, %+v: panic: %v\n%s", b.Asked, b.Got, b.Failed, p, debug.Stack())
		}
	}()
	d, err := Replay(f)
	if err == nil {
		_, err = json.Marshal(d)
		if err != nil {
			t.Errorf("%.200q, got %.200q: %v", b.Asked, b.Got, err)
		}
	}
	return err == nil
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
		frugal.Do(t, func() {
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
	})
}
