// SPDX-License-Identifier: MIT

package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What the two daemons write about interfaces: NetworkManager 1.52, systemd 257.
const (
	nmManaged   = "[device]\nmanaged=true\nconnection-uuid=5a2b\nnm-owned=0\nroute-metric-default-aspired=100\n"
	nmUnmanaged = "[device]\nmanaged=false\nperm-hw-addr-fake=3A:11\n"
	ndManaged   = "# This is private data. Do not " +
		"parse.\nADMIN_STATE=configured\nOPER_STATE=routable\nCARRIER_STATE=carrier\nNETWORK_FILE=/run/systemd/network/10-netplan-eth1.network\nDNS=10.0.0.1\n"
	ndUnmanaged = "# This is private data. Do not parse.\nADMIN_STATE=unmanaged\nOPER_STATE=carrier\n"
)

// host is a fixture of /proc and /run: the daemons run, in a namespace by name.
func managedHost(t *testing.T, daemons map[string]string, files map[string]string) FS {
	t.Helper()
	fs := FS{Proc: t.TempDir(), Run: t.TempDir()}
	link := func(ns string, elem ...string) {
		dir := filepath.Join(append([]string{fs.Proc}, elem...)...)
		if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(ns, filepath.Join(dir, "ns", "net")); err != nil {
			t.Fatal(err)
		}
	}
	link("net:[1]", "self")
	for name, ns := range daemons {
		pid := "1" + string(rune('0'+len(name)%10))
		link(ns, pid)
		write(t, filepath.Join(fs.Proc, pid, "comm"), name+"\n")
	}
	for name, text := range files {
		path := filepath.Join(fs.Run, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	return fs
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestManagers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the daemons' files must be a system user's")
	}
	nm, nd := "NetworkManager", "systemd-network"
	for _, x := range []struct {
		name    string
		daemons map[string]string
		files   map[string]string
		want    string
	}{
		{"NetworkManager", map[string]string{nm: "net:[1]"}, map[string]string{"NetworkManager/devices/2": nmManaged},
			"NetworkManager"},
		{"unmanaged", map[string]string{nm: "net:[1]"}, map[string]string{"NetworkManager/devices/2": nmUnmanaged}, ""},
		{"another interface", map[string]string{nm: "net:[1]"},
			map[string]string{"NetworkManager/devices/3": nmManaged}, ""},
		{"it has ended", nil, map[string]string{"NetworkManager/devices/2": nmManaged}, ""},
		{"in another namespace", map[string]string{nm: "net:[7]"},
			map[string]string{"NetworkManager/devices/2": nmManaged}, ""},
		{"networkd", map[string]string{nd: "net:[1]"}, map[string]string{"systemd/netif/links/2": ndManaged},
			"systemd-networkd /run/systemd/network/10-netplan-eth1.network"},
		{"unmanaged by networkd", map[string]string{nd: "net:[1]"},
			map[string]string{"systemd/netif/links/2": ndUnmanaged}, ""},
		{"both", map[string]string{nm: "net:[1]", nd: "net:[1]"},
			map[string]string{"NetworkManager/devices/2": nmManaged, "systemd/netif/links/2": ndUnmanaged},
			"NetworkManager"},
		{"another file", map[string]string{nm: "net:[1]"},
			map[string]string{"NetworkManager/devices/2": "\x00\xff=\nmanaged"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			for _, m := range managedHost(t, x.daemons, x.files).Managers(2) {
				got = append(got, strings.TrimSpace(m.Name+" "+m.File))
			}
			if strings.Join(got, ", ") != x.want {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

// What somebody else could have written, or is no file, is not believed, nor a process that
// a user has called so.
func TestManagersOfStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes files of other users")
	}
	const at = "NetworkManager/devices/2"
	for name, spoil := range map[string]func(fs FS) error{
		"a stranger's":    func(fs FS) error { return os.Chown(filepath.Join(fs.Run, at), 4711, 4711) },
		"writable by all": func(fs FS) error { return os.Chmod(filepath.Join(fs.Run, at), 0o666) },
		"a link":          func(fs FS) error { return moved(fs, at, os.Symlink) },
		"a pipe": func(fs FS) error {
			return moved(fs, at, func(_, to string) error { return unix.Mkfifo(to, 0o600) })
		},
		"a user's process": func(fs FS) error { return os.Chown(filepath.Join(fs.Proc, "14"), 4711, 4711) },
		"no /proc/self":    func(fs FS) error { return os.RemoveAll(filepath.Join(fs.Proc, "self")) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := managedHost(t, map[string]string{"NetworkManager": "net:[1]"}, map[string]string{at: nmManaged})
			if len(fs.Managers(2)) != 1 {
				t.Fatal("it is not seen before it is spoilt")
			}
			if err := spoil(fs); err != nil {
				t.Fatal(err)
			}
			if got := fs.Managers(2); got != nil {
				t.Errorf("%v", got)
			}
		})
	}
}

// moved puts a file elsewhere, and make something in its place.
func moved(fs FS, at string, make func(from, to string) error) error {
	path := filepath.Join(fs.Run, at)
	if err := os.Rename(path, path+".moved"); err != nil {
		return err
	}
	return make(path+".moved", path)
}
