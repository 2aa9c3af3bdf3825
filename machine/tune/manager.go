// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// manager is a daemon that manages an interface: it may put back what a run sets, or take
// addresses off when the link is away for some seconds.
type manager struct {
	Name string // NetworkManager, systemd-networkd
	File string // what it goes by: a .network file; "": not told
}

// managers are where the daemons tell, by an interface's index, what they do with it.
// Neither needs D-Bus to be read: NetworkManager writes managed= (src/core/nm-config.c:
// nm_config_device_state_write), networkd ADMIN_STATE= and NETWORK_FILE=
// (src/network/networkd-state-file.c: link_save), which sd_network_link_get_setup_state
// reads.
var managers = []struct {
	name, comm, dir string
	read            func(map[string]string) (file string, manages bool)
}{
	{"NetworkManager", "NetworkManager", "NetworkManager/devices", func(v map[string]string) (string, bool) {
		return "", v["managed"] == "true"
	}},
	{"systemd-networkd", "systemd-network", "systemd/netif/links", func(v map[string]string) (string, bool) {
		state := v["ADMIN_STATE"]
		return v["NETWORK_FILE"], state != "" && state != "unmanaged"
	}},
}

// Managers lists the daemons that run in this network namespace and manage the interface with an
// index.
func (fs FS) Managers(index int) (out []manager) {
	for _, m := range managers {
		uid, ok := fs.daemon(m.comm)
		if !ok {
			continue
		}
		values, err := readState(filepath.Join(under(fs.Run, "/run", []string{m.dir}), strconv.Itoa(index)), uid)
		if err != nil {
			continue // it knows no such interface
		}
		if file, ok := m.read(values); ok {
			out = append(out, manager{m.name, file})
		}
	}
	return out
}

// daemon finds a process by its name (/proc/PID/comm has 15 bytes of it) that is in this
// network namespace, and whose it is. Its word counts only if it is root's or a system
// user's: anybody can call a process so.
func (fs FS) daemon(comm string) (uid uint32, ok bool) {
	here, err := os.Readlink(fs.proc("self", "ns", "net"))
	if err != nil {
		return 0, false
	}
	for _, dir := range fs.processes() {
		b, err := kernelfile.ReadFile(dir + "/comm")
		if err != nil || strings.TrimSpace(string(b)) != comm {
			continue
		}
		var st unix.Stat_t
		ns, nerr := os.Readlink(filepath.Join(dir, "ns", "net"))
		if err := unix.Stat(dir, &st); err != nil || st.Uid >= firstUser {
			continue
		}
		if nerr == nil && ns != here || nerr != nil && !errors.Is(nerr, os.ErrPermission) {
			continue
		}
		return st.Uid, true
	}
	return 0, false
}

// firstUser is the lowest number of a person's account on common distributions.
const firstUser = 1000

// mostState is more than either daemon writes about an interface.
const mostState = 64 << 10

// readState reads NAME=VALUE lines of a regular file that root or uid owns and nobody else
// can write.
func readState(path string, uid uint32) (map[string]string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != 0 && st.Uid != uid || st.Mode&0o022 != 0 {
		return nil, os.ErrPermission
	}
	b, err := io.ReadAll(io.LimitReader(f, mostState))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if name, v, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			out[strings.TrimSpace(name)] = strings.TrimSpace(v)
		}
	}
	return out, nil
}
