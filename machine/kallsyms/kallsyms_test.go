// SPDX-License-Identifier: MIT

package kallsyms

import (
	"errors"
	"os"
	"strings"
	"testing"
)

const listed = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000010 t __pfx_first
ffffffff81000020 T first
ffffffff81000020 W alias
ffffffff81000120 t third.isra.0
ffffffff81000100 T second
ffffffff81000200 T _etext
ffffffff82000000 D data
ffffffffa0000000 t in_module	[sch_tbf]
ffffffffa0100040 t bpf_prog_6deef7357e7b4530_drop	[bpf]
`

func parsed(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestFind(t *testing.T) {
	table := parsed(t, listed)
	if table.Len() != 7 || table.Skipped != 0 {
		t.Errorf("%d symbols, %d skipped", table.Len(), table.Skipped)
	}
	for _, x := range []struct {
		addr   uint64
		want   string
		offset uint64
	}{
		{0xffffffff80ffffff, "", 0}, // before all
		{0xffffffff81000020, "first", 0},
		{0xffffffff810000ff, "first", 0xdf},
		{0xffffffff81000100, "second", 0},
		{0xffffffff81000120, "third.isra.0", 0},
		{0xffffffff81000200, "", 0}, // behind the kernel's code
		{0xffffffff82000000, "", 0}, // data
		{0xffffffffa0000001, "in_module [sch_tbf]", 1},
		{0xffffffffa00fffff, "in_module [sch_tbf]", 0xfffff},
		{0xffffffffa0100000, "", 0}, // too far from it
		{0xffffffffa0100041, "bpf_prog_6deef7357e7b4530_drop [bpf]", 1},
		{0, "", 0},
		{^uint64(0), "", 0},
	} {
		s, offset, ok := table.Find(x.addr)
		if ok != (x.want != "") || ok && (s.String() != x.want || offset != x.offset) {
			t.Errorf("%#x: %s+%#x, %v; want %q+%#x", x.addr, s, offset, ok, x.want, x.offset)
		}
	}
}

// A call that is its function's last instruction returns to the next function's first.
func TestReturn(t *testing.T) {
	table := parsed(t, listed)
	if s, offset, ok := table.Return(0xffffffff81000100); !ok || s.Name != "first" || offset != 0xe0 {
		t.Errorf("%s+%#x, %v", s, offset, ok)
	}
	if _, _, ok := table.Return(0); ok {
		t.Error("the address 0 has a name")
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000000 T a\n0000000000000000 t b\n": ErrHidden.Error(),
		"ffffffff81000000 T\n":                         `line 1: "ffffffff81000000 T" is not`,
		"\n":                                           "line 1",
		"ffffffff81000000 T a\nfffffffff81000000 T b": "line 2",
		"x T a\n":                      `"x" is not an address`,
		strings.Repeat("f", maxLine+1): "line 1: bufio.Scanner: token too long",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	// Words that a terminal would obey are nobody's name.
	table := parsed(t, "ffffffff81000000 T \x1b[31mred\nffffffff81000010 T good\nffffffff81000020 T a\t[\x1b]\n")
	if table.Len() != 1 || table.Skipped != 2 || table.Symbol(0).Name != "good" {
		t.Errorf("%d symbols, %d skipped", table.Len(), table.Skipped)
	}
	if _, err := Parse(strings.NewReader("")); err != nil {
		t.Errorf("an empty list: %v", err)
	}
}

// The kernel's own list has the functions that packets pass.
func TestReadRunning(t *testing.T) {
	table, err := Read()
	if errors.Is(err, ErrHidden) || errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ip_rcv", "skb_release_data", "udp_queue_rcv_one_skb"} {
		s, ok := named(table, name)
		if !ok {
			t.Errorf("there is no %s among %d symbols", name, table.Len())
			continue
		}
		if got, offset, ok := table.Return(s.Addr + 1); !ok || got != s || offset != 1 {
			t.Errorf("%s is found as %s+%d, %v", s, got, offset, ok)
		}
	}
}

// named finds a function, whatever the compiler has added to its name.
func named(table *Table, name string) (symbol, bool) {
	for i := range table.Len() {
		s := table.Symbol(i)
		if base, _, _ := strings.Cut(s.Name, "."); base == name {
			return s, true
		}
	}
	return symbol{}, false
}

func FuzzParse(f *testing.F) {
	f.Add(listed)
	f.Add("ffffffff81000000 T a\t[b]\n")
	f.Add("0 t a")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range table.Len() {
			s := table.Symbol(i)
			if !plain(s.Name) || s.Module != "" && !plain(s.Module) || strings.HasPrefix(s.Name, "__pfx_") {
				t.Fatalf("%+q", s)
			}
			if i > 0 && table.Symbol(i-1).Addr >= s.Addr {
				t.Fatalf("%#x behind %#x", s.Addr, table.Symbol(i-1).Addr)
			}
			if got, offset, _ := table.Find(s.Addr); got != s || offset != 0 {
				t.Fatalf("%+q is found as %+q+%d", s, got, offset)
			}
		}
	})
}
