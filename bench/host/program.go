// SPDX-License-Identifier: MIT

package host

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// agentDirEnv names the folder on ssh hosts in which ours is made, instead of
// the user's cache.
const agentDirEnv = "ZCBENCH_AGENT_DIR"

// ownDir is our folder in it. All that we make and remove is in there.
const ownDir = "zcbench-agent"

// machines are the names that uname -m has for the architectures of Go.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l",
	"riscv64": "riscv64",
	"ppc64le": "ppc64le", "s390x": "s390x", "loong64": "loongarch64"}

// program is what the far host is to run.
type program struct {
	path, sum string // sum: SHA-256, hexadecimal
	dir       string // our folder on the far host; "": the one in the user's cache
	home      string // the folder in dir: the sum of the agent's program
	name      string // the file there
	machine   string
}

func readProgram(path string) (p program, err error) {
	p = program{path: path, name: "zcbench", machine: machines[runtime.GOARCH]}
	if p.dir, err = agentDir(os.Getenv(agentDirEnv)); err != nil {
		return p, err
	}
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	if p.sum, err = sumOf(f); err != nil {
		return p, err
	}
	p.home = p.sum
	return p, nil
}

// sumOf computes the hexadecimal SHA-256 of what it reads.
func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// plainPath is a path that is itself within double quotes of any shell.
var plainPath = lazy.Regexp(`^/[A-Za-z0-9._/+-]*$`)

// agentDir returns our folder within the one that the user names; "" if they name none.
func agentDir(in string) (string, error) {
	switch {
	case in == "":
		return "", nil
	case !plainPath().MatchString(in):
		return "", specErrorf("%s=%q: must be an absolute path of letters, digits and ./_+-", agentDirEnv, in)
	case slices.Contains(strings.Split(in, "/"), ".."):
		return "", specErrorf("%s=%q: must be a path without \"..\"", agentDirEnv, in)
	case path.Clean(in) == "/":
		return "", specErrorf(
			"%s=%q: is the root folder; name a suitable one, such as /opt or /var/cache: %s is made in it",
			agentDirEnv, in, ownDir)
	}
	return path.Join(in, ownDir), nil
}
