// SPDX-License-Identifier: MIT

package lease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// sealed is text whose lines have checksums.
func sealed(text string) []byte {
	var out []byte
	var c chain
	for l := range strings.Lines(text) {
		var b []byte
		b, c = c.seal([]byte(strings.TrimSuffix(l, "\n")))
		out = append(append(out, b...), '\n')
	}
	return out
}

// older is a journal as version 2 wrote it.
func older(t *testing.T, b []byte) []byte {
	t.Helper()
	var out []byte
	for l := range bytes.Lines(b) {
		out = append(append(out, l[:len(l)-1-sumLen]...), "}\n"...)
	}
	out = bytes.Replace(out, fmt.Appendf(nil, `"version":%d`, Version), []byte(`"version":2`), 1)
	if j, err := parse(out); err != nil || j.trusted || j.Version != 2 {
		t.Fatalf("%+v, %v: %s", j, err, out)
	}
	return out
}

// whole is a journal that has every kind of line.
func whole(t *testing.T) []byte {
	t.Helper()
	m := newMachine()
	m.after["channels"] = func(m *machine) { m.values["rss"] = "0 0" }
	l := m.lease(t)
	if err := errors.Join(l.Become(Want{"eth0", "mtu", "4148"}, Want{"eth0", "channels", "2"}),
		l.Become(Want{"eth0", "mtu", "9000"}, Want{"eth0", "channels", "2"}, Want{"", "irqbalance", "stopped"}),
		l.Become(Want{"eth0", "mtu", "9000"}, Want{"eth0", "channels", "2"})); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(l.file.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"steps", "reset", "became", "undone"} {
		if !bytes.Contains(b, []byte(`{"`+kind+`"`)) {
			t.Fatalf("no %s in %s", kind, b)
		}
	}
	if j, err := parse(b); err != nil || !j.trusted || len(j.Steps) < 4 {
		t.Fatalf("%+v, %v", j, err)
	}
	return b
}

// A bit that fell over is seen wherever it is; so are lines that are gone, twice
// there, or in another order.
func TestJournalDamaged(t *testing.T) {
	good := whole(t)
	refused := func(b []byte, what string, at int) {
		t.Helper()
		if _, err := parse(b); err == nil {
			t.Fatalf("%s at %d is believed: %s", what, at, b)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		for bit := range 8 {
			b[i] = good[i] ^ 1<<bit
			refused(b, "a bit", i)
		}
		for _, c := range []byte("0123456789 \n\"}x") {
			if b[i] = c; c != good[i] {
				refused(b, "another byte", i)
			}
		}
		if i < len(good)-1 { // else it is torn
			refused(slices.Delete(bytes.Clone(good), i, i+1), "a lost byte", i)
		}
		if good[i] == '\n' && i < len(good)-1 {
			refused(slices.Delete(bytes.Clone(good[:len(good)-1]), i, i+1), "a lost byte before a torn end", i)
		}
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		if i+1 < len(lines) {
			refused(bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), "a lost line", i)
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			refused(bytes.Join(swapped, nil), "two lines in another order", i)
		}
		refused(bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil), "a line twice", i)
	}
}

// A journal that ends anywhere is one of fewer lines, and says that its last is
// torn.
func TestJournalCut(t *testing.T) {
	good := whole(t)
	lines := 0
	for i := range good {
		j, err := parse(good[:i])
		switch {
		case lines == 0 && !errors.Is(err, errEmpty), lines > 0 && err != nil:
			t.Fatalf("cut at %d: %v", i, err)
		case err == nil && (j.Torn != (good[i-1] != '\n') || !j.trusted):
			t.Fatalf("cut at %d: %+v", i, j)
		}
		if good[i] == '\n' {
			lines++
		}
	}
}

// Journals of older versions are read, and not believed unasked.
func TestJournalOlder(t *testing.T) {
	good := whole(t)
	j, err := parse(older(t, good))
	k, kerr := parse(good)
	if err != nil || kerr != nil || len(j.Steps) != len(k.Steps) {
		t.Fatalf("%+v, %v, %v", j, err, kerr)
	}
	a, _ := json.Marshal(j.Steps)
	b, _ := json.Marshal(k.Steps)
	if !bytes.Equal(a, b) {
		t.Errorf("%s became %s", b, a)
	}
}
