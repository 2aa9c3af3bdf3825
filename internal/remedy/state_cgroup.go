// SPDX-License-Identifier: MIT

package remedy

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// fullCgroup finds a cgroup (v2) of the process, from its own to the top one, that has used all but
// a sixteenth of its memory.max, and that limit in bytes; "": none has.
func fullCgroup(own, root string) (cgroup string, limit int64) {
	b, err := os.ReadFile(own)
	if err != nil {
		return "", 0
	}
	for line := range strings.Lines(string(b)) {
		at, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for at = path.Clean("/" + at); ; at = path.Dir(at) {
			most, used := cgroupBytes(root, at, "memory.max"), cgroupBytes(root, at, "memory.current")
			if most > 0 && used >= most-most/16 {
				return at, most
			}
			if at == "/" {
				return "", 0
			}
		}
	}
	return "", 0
}

// cgroupBytes reads a number of a cgroup; 0 where there is none, or no limit.
func cgroupBytes(root, at, name string) int64 {
	b, err := os.ReadFile(filepath.Join(root, at, name))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0 // "max"
	}
	return n
}
