// SPDX-License-Identifier: MIT

// Package units reads and prints quantities on the command line: sizes in bytes
// with binary suffixes and bit rates with decimal ones, as the field's tools
// take them.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size: "4096", "128K", "64M", "1G" with K = 1024 and so on; a
// trailing "B" or "iB" changes nothing.
type Bytes int

// BitRate is in bits per second: "10G", "2.5G", "800M" with K = 1000 and so on.
type BitRate uint64

const suffixes = "KMGT"

// split parts a number from its suffix, as a multiple of base.
func split(s string, base float64) (number string, factor float64) {
	factor = 1
	if s == "" {
		return s, factor
	}
	if i := strings.IndexByte(suffixes, strings.ToUpper(s[len(s)-1:])[0]); i >= 0 {
		return s[:len(s)-1], math.Pow(base, float64(i+1))
	}
	return s, factor
}

func parse(s string, base float64) (float64, error) {
	number, factor := split(s, base)
	f, err := strconv.ParseFloat(number, 64)
	if err == nil && f < 0 && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is below 0", s)
	}
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(number, "xXpP_+-nN") {
		return 0, fmt.Errorf("%q is not a number with an optional suffix of %s", s,
			strings.Join(strings.Split(suffixes, ""), ", "))
	}
	return f * factor, nil
}

// ParseBytes reads a size.
func ParseBytes(s string) (Bytes, error) {
	trimmed := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(s), "B"), "i")
	f, err := parse(trimmed, 1024)
	switch {
	case err != nil:
		return 0, fmt.Errorf("size %w", err)
	case f != math.Trunc(f):
		return 0, fmt.Errorf("size %q is not a whole number of bytes", s)
	case f > 1<<50:
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return Bytes(f), nil
}

// ParseBitRate reads a bit rate.
func ParseBitRate(s string) (BitRate, error) {
	f, err := parse(strings.TrimSpace(s), 1000)
	switch {
	case err != nil:
		return 0, fmt.Errorf("bit rate %w", err)
	case f > 1e15:
		return 0, fmt.Errorf("bit rate %q is too large", s)
	}
	whole := math.Round(f) // 1.001K is a little less than 1001 in binary
	if math.Abs(f-whole) > 1e-12*f {
		return 0, fmt.Errorf("bit rate %q is not a whole number of bits per second", s)
	}
	return BitRate(whole), nil
}

// String prints the size with the largest suffix that leaves a whole number.
func (b Bytes) String() string {
	n, i := int(b), 0
	for n != 0 && n%1024 == 0 && i < len(suffixes) {
		n, i = n/1024, i+1
	}
	if i == 0 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n) + suffixes[i-1:i]
}

// Set and Type make Bytes a flag value.
func (b *Bytes) Set(s string) (err error) { *b, err = ParseBytes(s); return err }

// Type names the value in a flag's help.
func (b *Bytes) Type() string { return "bytes" }

// String prints the rate in the same way.
func (r BitRate) String() string {
	n, i := uint64(r), 0
	for n != 0 && n%1000 == 0 && i < len(suffixes) {
		n, i = n/1000, i+1
	}
	if i == 0 {
		return strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(n, 10) + suffixes[i-1:i]
}
