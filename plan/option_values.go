// SPDX-License-Identifier: MIT

package plan

import (
	"errors"
	"fmt"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// number handles a numeric field whose zero leaves things as found.
func number(at func(*Cell) *int, parse func(string) (int, error), show func(string) string) value {
	return value{
		raw: func(c *Cell) string {
			if n := *at(c); n != 0 {
				return strconv.Itoa(n)
			}
			return ""
		},
		set:  func(c *Cell, s string) (err error) { *at(c), err = parse(s); return err },
		load: func(c *Cell, s string) (err error) { *at(c), err = units.ParseInt(s); return err },
		show: show, zero: func(c *Cell) { *at(c) = 0 },
	}
}

// optionalNumber handles a number whose zero means something.
func optionalNumber(at func(*Cell) **int, parse func(string) (int, error)) value {
	return value{
		raw: func(c *Cell) string {
			if p := *at(c); p != nil {
				return strconv.Itoa(*p)
			}
			return ""
		},
		set: func(c *Cell, s string) error {
			n, err := parse(s)
			*at(c) = &n
			return err
		},
		load: func(c *Cell, s string) error {
			n, err := units.ParseInt(s)
			*at(c) = &n
			return err
		},
		zero: func(c *Cell) { *at(c) = nil },
	}
}

func count(at func(*Cell) *int, lo, hi int) value { return number(at, within(lo, hi), nil) }

// within reads a whole number of a range.
func within(lo, hi int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a whole number", s)
		case n < lo || n > hi:
			return 0, fmt.Errorf("%d is outside %d..%d", n, lo, hi)
		}
		return n, nil
	}
}

func size(at func(*Cell) *int, lo, hi int) value { return number(at, sizeWithin(lo, hi), shortBytes) }

func sizeWithin(lo, hi int) func(string) (int, error) {
	return func(s string) (int, error) {
		b, err := units.ParseBytes(s)
		if err == nil && (int(b) < lo || int(b) > hi) {
			err = fmt.Errorf("%s is outside %d..%d bytes", s, lo, hi)
		}
		return int(b), err
	}
}

// rxBuffers are the sizes of the receiver's buffer that have names: one that stays in a core's
// cache, so that the payload is read where it was just copied to, and one that no cache holds.
var rxBuffers = map[string]int{"hot": 256 << 10, "cold": 64 << 20}

func rxBuffer(at func(*Cell) *int) value {
	parse := orZero(sizeWithin(stream.MinBufferBytes, stream.MaxMessageBytes))
	return number(at, func(s string) (int, error) {
		if n, ok := rxBuffers[s]; ok {
			return n, nil
		}
		return parse(s)
	}, shortBytes)
}

// bufLen parses a power of two, or 0 for a page.
func bufLen(most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := sizeWithin(0, most)(s)
		if err == nil && n != 0 && (n < 4096 || bits.OnesCount(uint(n)) != 1) {
			err = fmt.Errorf("%s is not a power of two in 4096..%d bytes", s, most)
		}
		return n, err
	}
}

// shortBytes shortens whole binary multiples, as sizes are usually set.
func shortBytes(raw string) string {
	n, _ := strconv.Atoi(raw)
	switch {
	case n == 0:
		return AsFound
	case n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "Mi"
	case n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "Ki"
	}
	return raw
}

// BIG TCP, bytes: the largest packet without it is GSO_LEGACY_MAX_SIZE of the kernel's
// include/linux/netdevice.h; with it GSO_MAX_SIZE and GRO_MAX_SIZE there.
const (
	PlainTCP  = 65536
	maxBigTCP = 524280
)

func bigTCP(at func(*Cell) *int) value {
	parse := sizeWithin(4096, maxBigTCP)
	return number(at, func(s string) (int, error) {
		switch s {
		case "off", "false":
			return PlainTCP, nil
		case "0":
			return 0, nil
		}
		return parse(s)
	}, shortBytes)
}

// microseconds reads a duration of whole microseconds, or a number of them.
func microseconds(at func(*Cell) **int, most time.Duration) value {
	return optionalNumber(at, parseMicroseconds(most))
}

// plainMicroseconds handles a duration whose zero leaves things as found.
func plainMicroseconds(at func(*Cell) *int, most time.Duration) value {
	return number(at, parseMicroseconds(most), nil)
}

func parseMicroseconds(most time.Duration) func(string) (int, error) {
	return func(s string) (int, error) {
		if _, err := strconv.Atoi(s); err == nil {
			s += "us" // as columns have it
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a duration such as 50us", s)
		case d < 0 || d > most:
			return 0, fmt.Errorf("%v is outside 0s..%v", d, most)
		case d%time.Microsecond != 0:
			return 0, fmt.Errorf("%v: the kernel only takes whole microseconds", d)
		}
		return int(d / time.Microsecond), nil
	}
}

// onOff handles a switch that may be left as it is.
func onOff(at func(*Cell) **bool) value {
	return value{
		raw: func(c *Cell) string {
			if p := *at(c); p != nil {
				return strconv.FormatBool(*p)
			}
			return ""
		},
		set: func(c *Cell, s string) error {
			on := s == "on" || s == "true"
			if !on && s != "off" && s != "false" {
				return fmt.Errorf("%q is not on or off", s)
			}
			*at(c) = &on
			return nil
		},
		show: func(raw string) string {
			return map[string]string{"": AsFound, "true": "on", "false": "off"}[raw]
		},
		zero: func(c *Cell) { *at(c) = nil },
	}
}

func text(at func(*Cell) *string, check func(string) error) value {
	return value{
		raw:  func(c *Cell) string { return *at(c) },
		set:  func(c *Cell, s string) error { *at(c) = s; return check(s) },
		load: func(c *Cell, s string) error { *at(c) = s; return nil },
		zero: func(c *Cell) { *at(c) = "" },
	}
}

func oneOf(at func(*Cell) *string, words ...string) value {
	return text(at, func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return nil
	})
}

// memory handles a word of package dmabuf. What comes after its colon is the provider's to check.
func memory(at func(*Cell) *string) value {
	return text(at, func(s string) error {
		_, _, err := dmabuf.Find(s)
		return err
	})
}

// word handles the name of something that the kernel knows. It checks the name: if root asks for
// one that the kernel lacks, the kernel takes it for the name of a module, and loads that.
func word(at func(*Cell) *string, of string) value {
	return text(at, func(s string) error {
		if s == "" || len(s) > 15 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return fmt.Errorf("%.40q is not a name of %s", s, of)
		}
		return nil
	})
}

// mostGenerators bounds the CPUs of a generator.
const mostGenerators = 256

// cpus handles a list of CPUs in the kernel's format.
func cpus(at func(*Cell) *string) value {
	return value{
		raw: func(c *Cell) string { return *at(c) },
		set: func(c *Cell, s string) error {
			list, err := cpulist.Parse(s)
			switch {
			case err != nil:
				return err
			case len(list) == 0 || len(list) > mostGenerators:
				return fmt.Errorf("%.40q names %d CPUs: want 1 to %d", s, len(list), mostGenerators)
			}
			*at(c) = cpulist.Format(list)
			return nil
		},
		load: func(c *Cell, s string) error { *at(c) = s; return nil },
		zero: func(c *Cell) { *at(c) = "" },
	}
}

// noneOr handles a text that can also be chosen by leaving it out.
func noneOr(at func(*Cell) *string, parse func(string) (string, error), none string) value {
	return value{
		raw: func(c *Cell) string { return *at(c) },
		set: func(c *Cell, s string) (err error) { *at(c), err = parse(s); return err },
		show: func(raw string) string {
			if raw == "" {
				return none
			}
			return raw
		},
		zero: func(c *Cell) { *at(c) = "" },
	}
}

func parseThen(s string) (string, error) {
	dir, writes := strings.CutPrefix(s, thenTo)
	switch {
	case s == "none":
		return "", nil
	case slices.Contains(thens, s):
		return s, nil
	case writes:
		if len(dir) > 1 {
			dir = strings.TrimSuffix(dir, "/") // which completion of a shell leaves there
		}
		return ThenWrite(dir), checkDir(dir)
	case s == strings.TrimSuffix(thenTo, ":"):
		return "", fmt.Errorf("%s wants a folder of the SUT's: %s/var/tmp", s, thenTo)
	}
	return "", fmt.Errorf("%q is not one of %s, or %sDIR", s, strings.Join(thens, ", "), thenTo)
}

// mostDir is how long the name of a folder may be.
const mostDir = 255

// checkDir refuses what is no clean name of a folder, whatever folder the process is in.
func checkDir(s string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if whole := path.Clean(s); path.IsAbs(s) && whole != s && len(s) <= mostDir {
		return fmt.Errorf("%.60q is not how the path of a folder is written here: say %.60q", s, whole)
	}
	if !path.IsAbs(s) || len(s) > mostDir || strings.ContainsFunc(s, hidden) {
		return fmt.Errorf("%.60q is no path of a folder from the root, such as /var/tmp", s)
	}
	return nil
}

func parseControl(s string) (string, error) {
	switch s {
	case "none":
		return "", nil
	case WrongQueue:
		return s, nil
	}
	return "", fmt.Errorf("%q is neither none nor %s", s, WrongQueue)
}

func parseTLS(s string) (string, error) {
	if s == "none" {
		return "", nil
	}
	if !slices.Contains(tlsWays, s) {
		return "", fmt.Errorf("%q is not one of %s", s, strings.Join(tlsWays, ", "))
	}
	return s, nil
}

func parseSteer(s string) (string, error) {
	switch s {
	case "flow":
		return "", nil
	case SteerPort:
		return s, nil
	}
	return "", fmt.Errorf("%q is neither flow nor %s", s, SteerPort)
}

// Other is a setting of an interface by name.
type Other struct {
	End         string // "sut", "tg", or "" for both
	Name, Value string
}

// parseOthers reads settings that are joined by ;.
func parseOthers(s string) (all []Other, err error) {
	for part := range strings.SplitSeq(s, ";") {
		var x Other
		rest := strings.TrimSpace(part)
		for _, end := range []string{"sut", "tg"} {
			if r, ok := strings.CutPrefix(rest, end+":"); ok {
				x.End, rest = end, r
				break
			}
		}
		name, v, ok := strings.Cut(rest, "=")
		if !ok || name == "" || v == "" {
			return nil, fmt.Errorf("%q is not NAME=VALUE, such as \"coalesce rx-usecs=5\"", strings.TrimSpace(part))
		}
		if nic.IsLease(name) {
			return nil, fmt.Errorf("%q: lease_queue leases a queue to the SUT", name)
		}
		x.Name, x.Value = name, v
		all = append(all, x)
	}
	return all, nil
}

// Others parses the settings in the cell's Set.
func (c *Cell) Others() []Other {
	if c.Set == "" {
		return nil
	}
	all, _ := parseOthers(c.Set) // was read by Set
	return all
}

func others(at func(*Cell) *string) value {
	return text(at, func(s string) error {
		if s == "" {
			return errors.New("no setting")
		}
		_, err := parseOthers(s)
		return err
	})
}
