// SPDX-License-Identifier: MIT

// Package elfsym names addresses in programs and libraries: by the symbols of an ELF file or, of
// a Go program without any, by the table that its runtime has of its functions.
package elfsym

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Bounds of what is read of a file. A browser, the largest program that there is, has some 700,000
// functions and 100 MB of their names.
const (
	maxSymbols = 2 << 20
	maxNames   = 64 << 20

	maxSectionNames = 16 << 20
	maxTable        = 256 << 20
	maxSegments     = 1 << 10
	maxName         = 1 << 10 // the longer ones of C++ are cut
)

// Table is the functions of a file.
type Table struct {
	segments []segment
	funcs    []function
}

// segment is a piece of the file that is loaded to be executed.
type segment struct{ offset, size, addr uint64 }

type function struct {
	addr, end uint64 // end 0: it is not told
	name      string
}

// Read reads the functions of a file of size bytes. A file without any has a table in which
// nothing is found.
func Read(r io.ReaderAt, size int64) (t *Table, err error) {
	defer func() {
		// The library's readers check what they read; gosym's do so by recovering, mostly.
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("the file's tables are inconsistent: %v", p)
		}
	}()
	if err := modest(r); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	t = &Table{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && len(t.segments) < maxSegments {
			t.segments = append(t.segments, segment{p.Off, p.Filesz, p.Vaddr})
		}
	}
	for _, read := range []func(*elf.File, int64) ([]function, error){symtab(elf.SHT_SYMTAB), gofuncs,
		symtab(elf.SHT_DYNSYM)} {
		if t.funcs, err = read(f, size); err != nil {
			return nil, err
		}
		if len(t.funcs) > 0 {
			break
		}
	}
	slices.SortStableFunc(t.funcs, func(a, b function) int { return cmp.Compare(a.addr, b.addr) })
	t.funcs = slices.CompactFunc(t.funcs, func(a, b function) bool { return a.addr == b.addr })
	return t, nil
}

// modest refuses what elf.NewFile would grow with before anybody could look: names of sections
// without end, or packed ones, and more sections than the header can tell.
func modest(r io.ReaderAt) error {
	var h, s [64]byte // an ELF64 header, and that of a section
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return fmt.Errorf("read the ELF header: %w", err)
	}
	if elf.Class(h[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return errors.New("not a 64-bit ELF file")
	}
	var o binary.ByteOrder = binary.LittleEndian
	if elf.Data(h[elf.EI_DATA]) == elf.ELFDATA2MSB {
		o = binary.BigEndian
	}
	at, each, n, names := o.Uint64(h[40:]), o.Uint16(h[58:]), o.Uint16(h[60:]), o.Uint16(h[62:])
	switch {
	case at == 0: // no sections
		return nil
	case each != 64 || n == 0 || names >= n || at > 1<<62:
		return errTooLarge
	}
	if _, err := r.ReadAt(s[:], int64(at)+64*int64(names)); err != nil {
		return fmt.Errorf("read the header of the section names: %w", err)
	}
	if elf.SectionFlag(o.Uint64(s[8:]))&elf.SHF_COMPRESSED != 0 || o.Uint64(s[32:]) > maxSectionNames {
		return errTooLarge
	}
	return nil
}

// Len returns how many functions there are.
func (t *Table) Len() int { return len(t.funcs) }

// Addr returns where the linker put what lies at an offset of the file; false: it is no code.
func (t *Table) Addr(offset uint64) (uint64, bool) {
	for _, s := range t.segments {
		if offset >= s.offset && offset-s.offset < s.size {
			return s.addr + (offset - s.offset), true
		}
	}
	return 0, false
}

// Find names the function at an address of the linker's.
func (t *Table) Find(addr uint64) (string, bool) {
	i, exact := slices.BinarySearchFunc(t.funcs, addr, func(f function, a uint64) int { return cmp.Compare(f.addr, a) })
	if !exact {
		i--
	}
	if i < 0 || t.funcs[i].end != 0 && addr >= t.funcs[i].end {
		return "", false
	}
	return t.funcs[i].name, true
}

var errTooLarge = errors.New("its table of symbols is too large")

// whole reads a section as it lies in the file. One that says to be compressed is left alone:
// nothing here shall grow while it is read.
func whole(s *elf.Section, size int64) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, nil
	}
	if s.FileSize > maxTable || s.FileSize > uint64(size) {
		return nil, fmt.Errorf("%w: %d bytes", errTooLarge, s.FileSize)
	}
	b := make([]byte, s.FileSize)
	n, err := s.ReadAt(b, 0)
	if n == len(b) {
		return b, nil
	}
	return nil, fmt.Errorf("read section of %d bytes: %w", len(b), cmp.Or(err, io.ErrUnexpectedEOF))
}

// symtab reads the functions of a table of symbols (elf(5), Elf64_Sym).
func symtab(kind elf.SectionType) func(*elf.File, int64) ([]function, error) {
	return func(f *elf.File, size int64) ([]function, error) {
		i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Type == kind })
		if f.Class != elf.ELFCLASS64 || i < 0 || int(f.Sections[i].Link) >= len(f.Sections) {
			return nil, nil
		}
		symbols, err := whole(f.Sections[i], size)
		if err != nil {
			return nil, err
		}
		names, err := whole(f.Sections[f.Sections[i].Link], size)
		if err != nil {
			return nil, err
		}
		return functions(symbols, names, f.ByteOrder)
	}
}

func functions(symbols, names []byte, order binary.ByteOrder) (out []function, err error) {
	held := 0
	for ; len(symbols) >= elf.Sym64Size; symbols = symbols[elf.Sym64Size:] {
		kind, at := elf.ST_TYPE(symbols[4]), order.Uint32(symbols)
		section, addr, size := order.Uint16(symbols[6:]), order.Uint64(symbols[8:]), order.Uint64(symbols[16:])
		if (kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC) || section == uint16(elf.SHN_UNDEF) ||
			uint64(at) >= uint64(len(names)) {
			continue
		}
		name := names[at:]
		name = name[:min(len(name), maxName)]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if len(name) == 0 {
			continue
		}
		if held += len(name); len(out) == maxSymbols || held > maxNames {
			return nil, errTooLarge
		}
		f := function{addr: addr, name: string(name)}
		if size > 0 && addr+size > addr {
			f.end = addr + size
		}
		out = append(out, f)
	}
	return out, nil
}

// goFuncs reads how many functions a table of Go's claims to have: a word after the header of 8
// bytes, in all versions (debug/gosym: LineTable.parsePclnTab).
func goFuncs(data []byte, o binary.ByteOrder) uint64 {
	switch {
	case len(data) < 16:
		return 0
	case data[7] == 8: // the size of a pointer
		return o.Uint64(data[8:])
	}
	return uint64(o.Uint32(data[8:]))
}

// gofuncs reads the functions of a Go program that was linked without symbols (-s).
func gofuncs(f *elf.File, size int64) ([]function, error) {
	tab, text := f.Section(".gopclntab"), f.Section(".text")
	if tab == nil || text == nil {
		return nil, nil
	}
	data, err := whole(tab, size)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	if goFuncs(data, f.ByteOrder) > maxSymbols {
		return nil, errTooLarge
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("read .gopclntab: %w", err)
	}
	if len(t.Funcs) > maxSymbols {
		return nil, errTooLarge
	}
	var out []function
	for i := range t.Funcs {
		if fn := &t.Funcs[i]; fn.Sym != nil && fn.Name != "" {
			out = append(out, function{fn.Entry, fn.End, fn.Name[:min(len(fn.Name), maxName)]})
		}
	}
	return out, nil
}
