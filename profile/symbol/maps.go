// SPDX-License-Identifier: MIT

package symbol

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// mapping is a piece of a process's memory that holds code (proc_pid_maps(5)).
type mapping struct {
	from, to, offset uint64
	device           string
	inode            uint64
	path             string // or "[vdso]"; empty: code made at run time
}

// maxMappings bounds a process's; the kernel's own limit is 65,530 (vm.max_map_count).
const maxMappings = 1 << 16

// parseMaps reads lines of "FROM-TO PERMS OFFSET DEVICE INODE PATH", and keeps those of code.
func parseMaps(r io.Reader) (out []mapping, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), 64<<10)
	for n := 1; sc.Scan(); n++ {
		m, code, err := parseMapping(sc.Text())
		if err != nil {
			return nil, fmt.Errorf("maps, line %d: %w", n, err)
		}
		if !code {
			continue
		}
		if len(out) == maxMappings {
			return nil, fmt.Errorf("maps, line %d: more than %d mappings of code", n, maxMappings)
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b mapping) int { return cmp.Compare(a.from, b.from) })
	return out, sc.Err()
}

func parseMapping(line string) (m mapping, code bool, err error) {
	var perms, span, offset, inode string
	rest := line
	for _, field := range []*string{&span, &perms, &offset, &m.device, &inode} {
		*field, rest, _ = strings.Cut(rest, " ")
	}
	from, to, ok := strings.Cut(span, "-")
	if !ok || len(perms) != 4 {
		return m, false, fmt.Errorf("%.80q is not a mapping", line)
	}
	for _, x := range []struct {
		text string
		base int
		to   *uint64
	}{{from, 16, &m.from}, {to, 16, &m.to}, {offset, 16, &m.offset}, {inode, 10, &m.inode}} {
		if *x.to, err = strconv.ParseUint(x.text, x.base, 64); err != nil {
			return m, false, fmt.Errorf("%.80q is not a number", x.text)
		}
	}
	m.path = strings.TrimLeft(rest, " ")
	return m, perms[2] == 'x' && m.from < m.to, nil
}

// find looks up the mapping of an address.
func find(all []mapping, addr uint64) (mapping, bool) {
	i, exact := slices.BinarySearchFunc(all, addr, func(m mapping, a uint64) int { return cmp.Compare(m.from, a) })
	if !exact {
		i--
	}
	if i < 0 || addr >= all[i].to {
		return mapping{}, false
	}
	return all[i], true
}
