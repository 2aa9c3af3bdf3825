// SPDX-License-Identifier: MIT

// Package netconfig reads what the kernel's selftests of drivers/net are told: which interface to
// test, who is at its other end, and how long a test may take
// (tools/testing/selftests/drivers/net/README.rst, kselftest/runner.sh).
package netconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/trust"

	"golang.org/x/sys/unix"
)

// The files, as the selftests call them.
const (
	configFile   = "net.config"
	settingsFile = "settings"
)

// maxFile is how much such a file may have, bytes; those of the kernel have a few lines.
const maxFile = 64 << 10

// line is a line NAME=VALUE.
type line struct{ name, value string }

// parse reads lines NAME=VALUE, without comments and the quotes around a value.
func parse(data string) (out []line, err error) {
	for i, l := range strings.Split(data, "\n") {
		l, _, _ = strings.Cut(l, "#")
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		name, value, ok := strings.Cut(l, "=")
		if !ok || !isName(name) {
			return nil, fmt.Errorf("line %d: %.60q: want NAME=VALUE", i+1, l)
		}
		if value, err = unquote(value); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out = append(out, line{name, value})
	}
	return out, nil
}

func isName(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// unquote takes the quotes off that a shell would take off; there is nothing else that it would do.
func unquote(s string) (string, error) {
	quote := ""
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		quote = s[:1]
		if len(s) < 2 || s[len(s)-1] != s[0] {
			return "", fmt.Errorf("%.60q: the quote does not end", s)
		}
		s = s[1 : len(s)-1]
	}
	if strings.ContainsAny(s, "\"'`$\\\x00") {
		return "", fmt.Errorf("%.60q: want a plain value, which a shell would not change", quote+s+quote)
	}
	return s, nil
}

// read reads such a file of a folder; "" where there is none. A folder that nobody named is only
// believed where nobody else could have put the file there.
func read(path string, named bool) (text string, err error) {
	open := func(p string) (*os.File, error) { return os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0) } // may be a FIFO
	if !named {
		open = func(p string) (*os.File, error) {
			if _, err := os.Lstat(p); err != nil {
				return nil, err
			}
			return trust.Open(p, os.O_RDONLY)
		}
	}
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s: no regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", path, maxFile)
	}
	return string(b), err
}

// Limit finds how long the test may take, and who says so: the runner, by its variable, or by its
// file in the folder of the test. 0 is without a limit.
func Limit(f Folder, getenv func(string) string) (limit time.Duration, says string, err error) {
	if v := getenv("kselftest_timeout"); v != "" {
		limit, err = seconds(v)
		return limit, "the runner's kselftest_timeout", err
	}
	path := filepath.Join(f.Path, settingsFile)
	text, err := read(path, f.Named)
	if err != nil {
		return 0, "", err
	}
	for _, l := range strings.Split(text, "\n") {
		// Nothing else of the file is ours to judge: it is a script to the runner.
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), "timeout="); ok {
			if limit, err = seconds(v); err != nil {
				return 0, "", fmt.Errorf("%s: %w", path, err)
			}
			says = path
		}
	}
	return limit, says, nil
}

// maxLimit keeps times within what can be reckoned with.
const maxLimit = 7 * 24 * time.Hour

// units are those of timeout(1), by their letter.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// seconds reads a duration of timeout(1): a number, of seconds unless a letter follows.
func seconds(s string) (time.Duration, error) {
	number, unit := strings.TrimSpace(s), time.Second
	if n := len(number); n > 0 && units[number[n-1]] > 0 {
		number, unit = number[:n-1], units[number[n-1]]
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" || v > float64(maxLimit)/float64(unit) {
		return 0, fmt.Errorf("timeout=%.40q: want at most %d days, in seconds, such as 600", s, maxLimit/units['d'])
	}
	return time.Duration(v * float64(unit)), nil
}
