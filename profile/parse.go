// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Bounds of a profile that is read.
const (
	MaxPacked   = 16 << 20
	maxUnpacked = 32 << 20
	mostParts   = 3 << 18 // see [parts]: each takes some 200 bytes in memory
	mostSteps   = 1 << 25 // see [Steps]
)

// Parse reads what Pprof wrote, from wherever it came: sizes are bounded, its parts fit each
// other, and no text in it is more than text.
func Parse(packed []byte) (*profile.Profile, error) {
	p, _, err := ParseWithin(packed, maxUnpacked)
	return p, err
}

// ParseWithin parses as [Parse] does a profile that has at most so many bytes when it is unpacked.
// It returns how many were unpacked, also of one that it refuses.
func ParseWithin(packed []byte, most int) (p *profile.Profile, unpacked int, err error) {
	data, err := unpack(packed, min(most, maxUnpacked))
	if err != nil {
		return nil, len(data), err
	}
	p, err = parse(data)
	return p, len(data), err
}

func unpack(packed []byte, most int) ([]byte, error) {
	if len(packed) > MaxPacked {
		return nil, fmt.Errorf("a profile of %d bytes, more than %d", len(packed), MaxPacked)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	if err != nil {
		return data, fmt.Errorf("read profile: %w", err)
	}
	if len(data) > most {
		return data, fmt.Errorf("a profile of more than %d bytes", most)
	}
	return data, nil
}

func parse(data []byte) (*profile.Profile, error) {
	if n := parts(data); n < 0 || n > mostParts {
		return nil, errors.New("read profile: it has too many parts, or is not a profile")
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	if n := Steps(p); n > mostSteps {
		return nil, fmt.Errorf("read profile: its stacks have %d functions in all, more than %d", n, mostSteps)
	}
	for _, text := range texts(p) {
		if plaintext.Clean(text) != text || strings.ContainsRune(text, '\n') {
			return nil, fmt.Errorf("a profile with text that is not plain: %+.80q", text)
		}
	}
	return p, nil
}
