// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// countFile is a file of counters, and their names, that is read again and again: see [TurnReader].
type countFile struct {
	path   string // below /proc
	source string
	kind   measure.Kind
	names  func(lines [][]byte) []string // of the file's numbers, in their order
}

// countFiles are those that are read in turns, the most wanted first.
var countFiles = []countFile{
	{"thread-self/" + netstatFile, "/proc/" + netstatFile, measure.Counter, pairNames},
	{"thread-self/" + snmpFile, "/proc/" + snmpFile, measure.Counter, pairNames},
	{"thread-self/" + snmp6File, "/proc/" + snmp6File, measure.Counter, snmp6Names},
	{"softirqs", softirqSource, measure.Counter32, softirqNames},
}

// pairNames are those of lines of names, each before a line of values: see [parsePairs].
func pairNames(lines [][]byte) (names []string) {
	for i := 0; i+1 < len(lines); i += 2 {
		f := strings.Fields(string(lines[i]))
		for _, name := range f[min(1, len(f)):] {
			names = append(names, strings.TrimSuffix(f[0], ":")+name)
		}
	}
	return names
}

// snmp6Names are those of lines of a name and a value.
func snmp6Names(lines [][]byte) (names []string) {
	for _, ln := range lines {
		if f := bytes.Fields(ln); len(f) > 0 {
			names = append(names, string(f[0]))
		}
	}
	return names
}

// softirqNames are kind and place of lines of a kind's runs on all CPUs, below a line of CPUs.
func softirqNames(lines [][]byte) (names []string) {
	for _, ln := range lines[min(1, len(lines)):] {
		f := bytes.Fields(ln)
		for i := range f[min(1, len(f)):] {
			names = append(names, strings.ToLower(strings.TrimSuffix(string(f[0]), ":"))+" "+strconv.Itoa(i))
		}
	}
	return names
}

// countWords are a file's words, each behind a line's end, and the names of the numbers among them.
type countWords struct {
	text  []byte
	names []string
}

// countReading is what the numbers of a file were; without words it was not read.
type countReading struct {
	words *countWords
	v     []uint64
}

// countReader reads a file. As long as its words stay the same, only numbers are kept.
type countReader struct {
	of    *countFile
	file  *os.File
	words *countWords
}

func (fs FS) openCounts(of *countFile) (*countReader, error) {
	path := fs.procPath(of.path)
	if file, ok := strings.CutPrefix(of.path, "thread-self/"); ok {
		path = fs.netPath(file)
	}
	f, err := kernelfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", of.source, mounted(err))
	}
	return &countReader{of: of, file: f}, nil
}

// read reads the file by way of buf into v.
func (c *countReader) read(buf []byte, v []uint64) (countReading, error) {
	n, err := c.file.ReadAt(buf, 0)
	if n == 0 && err != nil {
		return countReading{}, fmt.Errorf("read %s: %w", c.of.source, err)
	}
	if n == len(buf) {
		return countReading{}, fmt.Errorf("read %s: it has more than %d bytes", c.of.source, n)
	}
	if c.words != nil {
		if v, same := numbersOf(buf[:n], c.words.text, v); same && len(v) == len(c.words.names) {
			return countReading{c.words, v}, nil
		}
	}
	w := &countWords{text: wordsOf(buf[:n]),
		names: c.of.names(bytes.Split(bytes.TrimRight(buf[:n], "\n"), []byte("\n")))}
	v, same := numbersOf(buf[:n], w.text, v)
	if !same || len(v) != len(w.names) {
		return countReading{}, fmt.Errorf("parse %s: %d names and %d values", c.of.source, len(w.names), len(v))
	}
	c.words = w
	return countReading{w, v}, nil
}

// numbersOf appends a file's numbers to v[:0]; same: what else is in it are these words.
func numbersOf(b, words []byte, v []uint64) (_ []uint64, same bool) {
	v = v[:0]
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] > ' ' {
			i++
		}
		if field := b[:i]; i > 0 {
			n, ok := integer(field)
			switch {
			case ok:
				v = append(v, n)
			case len(words) > i && words[i] == '\n' && bytes.Equal(words[:i], field):
				words = words[i+1:]
			default:
				return v, false
			}
		}
		b = b[min(i+1, len(b)):]
	}
	return v, len(words) == 0
}

// wordsOf returns what [numbersOf] takes for the same words.
func wordsOf(b []byte) (words []byte) {
	for f := range bytes.FieldsSeq(b) {
		if _, ok := integer(f); !ok {
			words = append(append(words, f...), '\n')
		}
	}
	return words
}

// integer reads a whole field as a number; a negative one as its two's complement.
func integer(b []byte) (n uint64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, len(b) > 0
}

// countSum adds up what the numbers of a file grew by.
type countSum struct {
	of    *countFile
	words *countWords
	v     []uint64
	fell  []bool // was reset in a turn: what it grew by is not known
}

// addCounts adds what a file counted between two readings, in which it may have had other words. A
// counter that only the second reading has is left out until the next.
func addCounts(sums []countSum, of *countFile, before, after countReading) []countSum {
	if before.words == nil || after.words == nil {
		return sums
	}
	at := slices.IndexFunc(sums, func(s countSum) bool { return s.words == after.words })
	if at < 0 {
		at, sums = len(sums), append(sums, countSum{of, after.words, make([]uint64, len(after.v)),
			make([]bool, len(after.v))})
	}
	s, where := &sums[at], map[string]int(nil)
	if before.words != after.words {
		where = map[string]int{}
		for i, name := range before.words.names {
			where[name] = i
		}
	}
	for i, v := range after.v {
		k := i
		if where != nil {
			var had bool
			if k, had = where[after.words.names[i]]; !had {
				continue
			}
		}
		c := measure.Count{Kind: of.kind, Value: v}
		d, flag := c.Since(before.v[k])
		s.v[i] += uint64(d)
		s.fell[i] = s.fell[i] || d < 0 && flag != ""
	}
	return sums
}

// merged adds up the sums of a file with other words in other turns, by name; fell are those that
// are not known.
func merged(sums []countSum) (all map[string]uint64, fell []string) {
	all = map[string]uint64{}
	for i := range sums {
		for k, name := range sums[i].words.names {
			all[name] += sums[i].v[k]
			if sums[i].fell[k] && !slices.Contains(fell, name) {
				fell = append(fell, name)
			}
		}
	}
	for _, name := range fell {
		delete(all, name)
	}
	return all, fell
}

// openAllCounts opens those files that this host has.
func (fs FS) openAllCounts() (all []*countReader, warnings []string) {
	for i := range countFiles {
		c, err := fs.openCounts(&countFiles[i])
		switch {
		case err == nil:
			all = append(all, c)
		case countFiles[i].path == "thread-self/"+snmp6File && errors.Is(err, os.ErrNotExist): // no IPv6
		default:
			warnings = append(warnings, "not measured: "+err.Error())
		}
	}
	return all, warnings
}
