// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// sandbox is the user as whom apt speaks to the network when it runs as root
// (APT::Sandbox::User, by default _apt). The lab's cache may be below /root, where
// that user cannot go: apt then sees the cache's folder at aptHome, in a mount
// namespace of its own that ends with it. An ordinary user's apt has no privileges
// that it could drop.
type sandbox struct {
	on  bool
	uid int
	why string // root does without, because
}

// aptHome exists wherever apt is installed, and everybody may go there.
const aptHome = "/var/lib/apt"

// incoming is the folder that downloads of single packages come to.
const incoming = "incoming"

// aptUsersOwn are the folders that belong to apt's user: what is in them counts
// only once apt, or the lab, has checked and moved it.
var aptUsersOwn = map[string]bool{"partial": true, "auxfiles": true, incoming: true}

// findSandbox asks the system's configuration.
func findSandbox(ctx context.Context) sandbox {
	if os.Geteuid() != 0 {
		return sandbox{}
	}
	out, err := exec.CommandContext(ctx, "apt-config", "dump", "--format", "%v%n", "APT::Sandbox::User").Output()
	if err != nil {
		return sandbox{why: fmt.Sprintf("apt-config: %v", err)}
	}
	name := strings.TrimSpace(string(out))
	if name == "" || name == "root" {
		return sandbox{why: "this system's APT::Sandbox::User turns it off"}
	}
	u, err := user.Lookup(name)
	if err != nil {
		return sandbox{why: err.Error()}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return sandbox{why: err.Error()}
	}
	if ids, err := os.ReadFile("/proc/self/uid_map"); err != nil || !mapped(string(ids), uid) {
		return sandbox{why: "this user namespace has no user " + name}
	}
	return sandbox{on: true, uid: uid}
}

// mapped reports whether a uid_map (user_namespaces(7)) has a user.
func mapped(ids string, uid int) bool {
	for line := range strings.Lines(ids) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err == nil && uid >= first && uid-first < count {
			return true
		}
	}
	return false
}

// seenAs returns the path by which apt finds its folder.
func (s sandbox) seenAs(dir string) string {
	if s.on {
		return aptHome
	}
	return dir
}

// enterSandbox is run by unshare(1) in a new mount namespace. The folder in which
// it starts is the one outside, hence cd.
const enterSandbox = `set -e
mount --bind "$1" "$2"
cd "$2/$3"
shift 3
exec "$@"`

// enter builds the command line that runs argv with its folder where apt finds it.
func (s sandbox) enter(dir string, argv []string) []string {
	if !s.on {
		// Set by an option, for the system's configuration prevails over APT_CONFIG.
		return append([]string{argv[0], "-o", "APT::Sandbox::User="}, argv[1:]...)
	}
	return append([]string{"unshare", "--mount", "/bin/sh", "-c", enterSandbox, "sh", dir, aptHome, incoming}, argv...)
}

// emptyIncoming makes the folder anew, for who downloads.
func (a *apt) emptyIncoming() error {
	p := filepath.Join(a.dir, incoming)
	if err := os.RemoveAll(p); err != nil {
		return err
	}
	if err := os.Mkdir(p, 0o755); err != nil || !a.on {
		return err
	}
	return errors.Join(os.Chmod(p, 0o755), os.Chown(p, a.uid, -1))
}
