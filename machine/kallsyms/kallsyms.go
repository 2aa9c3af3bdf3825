// SPDX-License-Identifier: MIT

// Package kallsyms names addresses of the running kernel's code: of the kernel itself, its
// modules and its eBPF programs.
package kallsyms

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// File is where the kernel lists its symbols (kernel/kallsyms.c).
const File = "/proc/kallsyms"

// Bounds of what is read. A kernel of a distribution with all its modules loaded has some
// 250,000 symbols of code, names of at most 511 bytes (KSYM_NAME_LEN) and modules of 55.
const (
	maxLine    = 1 << 10
	maxSymbols = 4 << 20
	maxNames   = 512 << 20 // bytes
)

// maxSize is how far behind the beginning of the last symbol before a gap, such as that
// between two modules, an address still is of that symbol: the kernel does not tell sizes.
const maxSize = 1 << 20

// ErrHidden is that the kernel shows no addresses to this process.
var ErrHidden = errors.New("the kernel hides its addresses")

// symbol is one function.
type symbol struct {
	Addr   uint64
	Name   string
	Module string // "bpf" of an eBPF program; empty: of the kernel itself
}

// String returns the name, with the module in brackets as the kernel writes it.
func (s symbol) String() string {
	if s.Module == "" {
		return s.Name
	}
	return s.Name + " [" + s.Module + "]"
}

// Table is the symbols of code, by address.
type Table struct {
	addrs   []uint64
	at      []uint32 // where each name begins in names; the next one's beginning is its end
	names   []byte
	module  []uint16 // of each, an index of modules
	modules []string
	// Skipped is how many lines had a name that is not plain text.
	Skipped int
}

// Read reads the running kernel's. It takes some 0.2 s of CPU time.
func Read() (*Table, error) {
	f, err := kernelfile.Open(File)
	if err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w (a kernel without CONFIG_KALLSYMS has none)", err)
	}
	defer f.Close()
	t, err := Parse(f)
	if errors.Is(err, ErrHidden) {
		err = fmt.Errorf("%w: this needs CAP_SYSLOG, and kernel.kptr_restrict below 2", err)
		if why := privilege.Look().Lacks(privilege.Machine, unix.CAP_SYSLOG); why != privilege.Granted {
			err = fmt.Errorf("%w (%s: %s)", err, why.Cause(unix.CAP_SYSLOG), why.Do(unix.CAP_SYSLOG))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	return t, nil
}

// Parse reads lines of "ADDRESS TYPE NAME" and, behind a tab, "[MODULE]". Data is left out,
// and so are the __pfx_ symbols of the room that compilers leave before functions.
func Parse(r io.Reader) (*Table, error) {
	p := parser{t: &Table{modules: []string{""}}, module: map[string]uint16{"": 0}}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, maxLine), maxLine)
	n := 0
	for sc.Scan() {
		n++
		if err := p.line(sc.Text()); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", File, n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", File, n+1, err)
	}
	if len(p.all) == 0 && p.hidden {
		return nil, ErrHidden
	}
	return p.table(), nil
}

// parser collects symbols in the order of the file.
type parser struct {
	t      *Table
	all    []entry
	module map[string]uint16
	hidden bool // there were symbols of code without an address
}

type entry struct {
	addr     uint64
	from, to uint32 // the name, in names
	module   uint16
}

func (p *parser) line(s string) error {
	addr, rest, ok := strings.Cut(s, " ")
	kind, rest, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || len(kind) != 1 {
		return fmt.Errorf("%q is not an address, a type and a name", clip(s))
	}
	if !strings.Contains("tTwW", kind) {
		return nil
	}
	name, module, inModule := strings.Cut(rest, "\t")
	if inModule {
		module = strings.TrimSuffix(strings.TrimPrefix(module, "["), "]")
	}
	a, err := strconv.ParseUint(addr, 16, 64)
	if err != nil {
		return fmt.Errorf("%q is not an address", clip(addr))
	}
	if a == 0 {
		p.hidden = true
		return nil
	}
	if strings.HasPrefix(name, "__pfx_") {
		return nil
	}
	if !plain(name) || inModule && !plain(module) {
		p.t.Skipped++
		return nil
	}
	return p.add(a, name, module)
}

func (p *parser) add(addr uint64, name, module string) error {
	if len(p.all) == maxSymbols || len(p.t.names)+len(name) > maxNames {
		return fmt.Errorf("more than %d symbols, or %d bytes of names", maxSymbols, maxNames)
	}
	m, known := p.module[module]
	if !known {
		if len(p.t.modules) > math.MaxUint16 {
			return fmt.Errorf("more than %d modules", math.MaxUint16)
		}
		m = uint16(len(p.t.modules))
		module = strings.Clone(module)
		p.module[module], p.t.modules = m, append(p.t.modules, module)
	}
	from := uint32(len(p.t.names))
	p.t.names = append(p.t.names, name...)
	p.all = append(p.all, entry{addr, from, uint32(len(p.t.names)), m})
	return nil
}

// table sorts. Of several symbols at an address the file's first stays, which is the one that
// the kernel itself says: scripts/kallsyms.c puts weak names and the linker's marks last.
func (p *parser) table() *Table {
	slices.SortStableFunc(p.all, func(a, b entry) int { return cmp.Compare(a.addr, b.addr) })
	p.all = slices.CompactFunc(p.all, func(a, b entry) bool { return a.addr == b.addr })
	t := &Table{modules: p.t.modules, Skipped: p.t.Skipped, addrs: make([]uint64, len(p.all)),
		at:     make([]uint32, len(p.all)+1),
		module: make([]uint16, len(p.all))}
	for i, e := range p.all {
		t.addrs[i], t.module[i], t.at[i] = e.addr, e.module, uint32(len(t.names))
		t.names = append(t.names, p.t.names[e.from:e.to]...)
	}
	t.at[len(p.all)] = uint32(len(t.names))
	return t
}

// plain reports whether s is a word of visible ASCII: what is printed as it is.
func plain(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// clip cuts off what is shown in an error.
func clip(s string) string { return s[:min(len(s), 80)] }

// Len returns how many symbols there are.
func (t *Table) Len() int { return len(t.addrs) }

// symbol returns the one at an index, in the order of addresses.
func (t *Table) Symbol(i int) symbol {
	return symbol{t.addrs[i], string(t.names[t.at[i]:t.at[i+1]]), t.modules[t.module[i]]}
}

// Find names the function that an address is in, and how far in. The address that a call
// returns to may be the next function's first: look it up with [Table.Return].
func (t *Table) Find(addr uint64) (s symbol, offset uint64, ok bool) {
	i, exact := slices.BinarySearch(t.addrs, addr)
	if !exact {
		i--
	}
	if i < 0 || addr-t.addrs[i] >= maxSize {
		return symbol{}, 0, false
	}
	s = t.Symbol(i)
	return s, addr - s.Addr, s.Name != "_etext" && s.Name != "_einittext"
}

// Return names the function that a return address is in. The call is the instruction before
// it; where the function it calls never returns, there may be none behind it.
func (t *Table) Return(addr uint64) (s symbol, offset uint64, ok bool) {
	if addr == 0 {
		return symbol{}, 0, false
	}
	s, offset, ok = t.Find(addr - 1)
	return s, offset + 1, ok
}
