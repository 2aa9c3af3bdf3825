// SPDX-License-Identifier: MIT

package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// whereIs is where this process has a function, and what its name in tables is.
func whereIs(f any) (uint64, string) {
	pc := reflect.ValueOf(f).Pointer()
	return uint64(pc), runtime.FuncForPC(pc).Name()
}

// The program of this test names its own functions, by its symbols and by the runtime's table.
func TestOwnProgram(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if f.Type != elf.ET_EXEC {
		t.Skipf("this test's program is position-independent (%v): it does not run where it was linked", f.Type)
	}
	whole, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	stripped, err := gofuncs(f, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]*Table{"all": whole,
		".gopclntab": {funcs: stripped, segments: whole.segments}} {
		for _, fn := range []any{Read, gofuncs, strings.Repeat} {
			addr, want := whereIs(fn)
			for _, at := range []uint64{addr, addr + 1} {
				if got, ok := table.Find(at); !ok || got != want {
					t.Errorf("%s: %#x is %q (%v), want %q", name, at, got, ok, want)
				}
			}
		}
		if got, ok := table.Find(0); ok {
			t.Errorf("%s: address 0 is %q", name, got)
		}
	}
	p := whole.segments[0]
	if addr, ok := whole.Addr(p.offset + 1); !ok || addr != p.addr+1 {
		t.Errorf("offset %#x is at %#x (%v), want %#x", p.offset+1, addr, ok, p.addr+1)
	}
	if _, ok := whole.Addr(1 << 60); ok {
		t.Error("an offset behind the file is code")
	}
}

// small is an ELF file with a table of symbols of these functions, one section of each kind.
func small(t testing.TB, symbols []elf.Sym64, names string) []byte {
	t.Helper()
	var b bytes.Buffer
	const head, sym = 64, elf.Sym64Size
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	shoff := uint64(head + len(symbols)*sym + len(names))
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: head, Shoff: shoff,
		Shentsize: 64, Shnum: 3, Shstrndx: 2}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	put(h)
	for _, s := range symbols {
		put(s)
	}
	b.WriteString(names)
	put(elf.Section64{})
	put(elf.Section64{Type: uint32(elf.SHT_SYMTAB), Off: head, Size: uint64(len(symbols) * sym), Link: 2, Entsize: sym})
	put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: uint64(head + len(symbols)*sym), Size: uint64(len(names))})
	return b.Bytes()
}

func sym(name uint32, kind elf.SymType, addr, size uint64) elf.Sym64 {
	return elf.Sym64{Name: name, Info: uint8(kind), Shndx: 1, Value: addr, Size: size}
}

func TestSymbols(t *testing.T) {
	data := small(t, []elf.Sym64{sym(3, elf.STT_FUNC, 0x2000, 0), sym(1, elf.STT_FUNC, 0x1000, 0x10),
		sym(1, elf.STT_OBJECT, 0x1800, 8),
		sym(999, elf.STT_FUNC, 0x1900, 8), sym(0, elf.STT_FUNC, 0x1a00, 8)}, "\x00a\x00b\x00")
	table, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "a", 0x100f: "a", 0x1010: "", 0x1804: "", 0x1904: "",
		0x1a04: "", 0x2000: "b", 0x20000: "b"} {
		if got, ok := table.Find(addr); got != want || ok != (want != "") {
			t.Errorf("%#x is %q (%v), want %q", addr, got, ok, want)
		}
	}
	if table.Len() != 2 {
		t.Errorf("%d functions, want 2", table.Len())
	}
}

func TestRefuses(t *testing.T) {
	if _, err := Read(strings.NewReader("#!/bin/sh\n"), 10); err == nil {
		t.Error("a script is an ELF file")
	}
	// A section that says it is larger than the file is not made room for.
	data := small(t, []elf.Sym64{sym(1, elf.STT_FUNC, 1, 1)}, "\x00a\x00")
	size := len(data) - 2*64 + 32 // sh_size of the second section
	binary.LittleEndian.PutUint64(data[size:], 1<<40)
	if _, err := Read(bytes.NewReader(data), int64(len(data))); err == nil {
		t.Error("a table of 1 TiB was read")
	}
}

// goProgram is an ELF file without symbols, with a table of Go's for the code at an address.
func goProgram(t testing.TB, table []byte, text uint64) []byte {
	t.Helper()
	const head = 64
	names := "\x00.text\x00.gopclntab\x00.shstrtab\x00"
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	at := uint64(head + len(table))
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: head,
		Shoff: at + uint64(len(names)), Shentsize: 64, Shnum: 4, Shstrndx: 3}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	put(h)
	b.Write(table)
	b.WriteString(names)
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Addr: text, Off: head})
	put(elf.Section64{Name: 7, Type: uint32(elf.SHT_PROGBITS), Off: head, Size: uint64(len(table))})
	put(elf.Section64{Name: 18, Type: uint32(elf.SHT_STRTAB), Off: at, Size: uint64(len(names))})
	return b.Bytes()
}

// goTable is a table of Go 1.20 and later (debug/gosym: LineTable.parsePclnTab) with one function,
// main.f, of 0x20 bytes.
func goTable() []byte {
	const names, functions = 72, 80
	b := []byte("\xf1\xff\xff\xff\x00\x00\x01\x08")
	// functions, files, text, and where names, ... are
	for _, v := range []uint64{1, 0, 0, names, functions, functions, functions, functions} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, "\x00main.f\x00"...)
	// at 0 the one 16 further on, up to 0x20; its address, its name
	for _, v := range []uint32{0, 16, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func TestGoTable(t *testing.T) {
	data := goProgram(t, goTable(), 0x401000)
	table, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x400fff: "", 0x401000: "main.f", 0x40101f: "main.f", 0x401020: ""} {
		if got, ok := table.Find(addr); got != want || ok != (want != "") {
			t.Errorf("%#x is %q (%v), want %q", addr, got, ok, want)
		}
	}
}

func FuzzGoTable(f *testing.F) {
	f.Add(goTable(), uint64(0x401000))
	f.Add(goTable()[:40], uint64(0))
	f.Fuzz(func(t *testing.T, pclntab []byte, text uint64) {
		data := goProgram(t, pclntab, text)
		table, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, fn := range table.funcs {
			if fn.name == "" || len(fn.name) > maxName {
				t.Fatalf("%+v", fn)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(small(f, []elf.Sym64{sym(1, elf.STT_FUNC, 0x1000, 0x10)}, "\x00a\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, fn := range table.funcs {
			if name, ok := table.Find(fn.addr); !ok || name == "" {
				t.Fatalf("%+v is not found: %q, %v", fn, name, ok)
			}
		}
	})
}
