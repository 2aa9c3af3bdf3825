// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// secrets are user names, passwords and communities. They come from environment
// variables, ZCBENCH_REDFISH_PASSWORD, or from a file that only its owner may
// read, with lines "password = ...". They are never part of a spec, which ends
// up in results.
type secrets struct {
	prefix string            // "ZCBENCH_REDFISH_"
	file   map[string]string // nil: the environment
}

// secretsOption names the file that has a source's secrets.
const secretsOption = "secrets"

// secretsPrefix returns how the environment's variables with a source's secrets begin.
func secretsPrefix(s Spec) string { return "ZCBENCH_" + strings.ToUpper(s.Name) + "_" }

// secretsOf reads the secrets of a spec: its option "secrets" names a file.
func secretsOf(s Spec) (secrets, error) {
	out := secrets{prefix: secretsPrefix(s)}
	path := s.Options.Get(secretsOption)
	if path == "" {
		return out, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return out, fmt.Errorf("read secrets: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return out, fmt.Errorf("read secrets: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return out, &unavailable{fmt.Sprintf("read secrets: %s can be read by others (mode %04o)", path,
			st.Mode().Perm()), "chmod 600 " + path}
	}
	out.file = map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			// without the line: it may be a password
			return out, fmt.Errorf("read secrets: %s:%d: not of the form key = value", path, n)
		}
		out.file[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	return out, lines.Err()
}

// get returns a secret, "" where there is none.
func (s secrets) get(name string) string {
	if s.file != nil {
		return s.file[name]
	}
	return os.Getenv(s.prefix + strings.ToUpper(name))
}

// fixOf extracts what the user can do about err.
func fixOf(err error) string {
	var f interface{ Fix() string }
	if errors.As(err, &f) {
		return f.Fix()
	}
	return ""
}
