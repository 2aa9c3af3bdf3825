// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const debian = "http://deb.example/debian"

func needApt(t *testing.T) {
	t.Helper()
	for _, p := range []string{"apt-get", "apt-config", "unshare"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("needs apt and util-linux")
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		t.Skip("needs debian-archive-keyring")
	}
}

func testApt(t *testing.T) *apt {
	t.Helper()
	needApt(t)
	t.Setenv(mirrorEnv, debian)
	t.Setenv(snapshotEnv, "")
	a, err := newApt(t.Context(), testCache(t), "sid", io.Discard)
	must(t, err)
	return a
}

// apt's own settings hold, but for what makes its state private.
func TestAptKeepsItsGuards(t *testing.T) {
	a := testApt(t)
	for _, guard := range []string{"Sandbox", "Valid-Until", "Check-Date", "Allow", "Verify"} {
		if strings.Contains(a.conf(), guard) {
			t.Errorf("the private configuration meddles with %s:\n%s", guard, a.conf())
		}
	}
	for _, name := range []string{"Acquire::Check-Valid-Until", "APT::Sandbox::User"} {
		want, err := exec.Command("apt-config", "dump", "--format", "%v%n", name).Output()
		must(t, err)
		got, err := a.run(t.Context(), "apt-config", "dump", "--format", "%v%n", name)
		must(t, err)
		if string(got) != string(want) && (name != "APT::Sandbox::User" || a.on) {
			t.Errorf("%s is %q, the system's is %q", name, got, want)
		}
	}
	list, err := os.ReadFile(filepath.Join(a.dir, "sources.list"))
	must(t, err)
	if want := "deb [arch=amd64 signed-by=" + keyring + "] " + debian + " sid main\n"; string(list) != want {
		t.Errorf("sources.list is %q, want %q", list, want)
	}
}

// Old lists are for those who name a past state of the archive, or say that they
// mean it.
func TestSnapshots(t *testing.T) {
	const dated = "https://snapshot.example/archive/debian/20250520T000000Z"
	for _, tc := range []struct {
		url, env string
		want     bool
	}{
		{debian, "", false}, {debian, "0", false}, {debian, "1", true}, {dated, "", true}, {dated + "/", "", true},
		{dated, "0", false}, {"https://h.example/20250520/debian", "", false},
	} {
		t.Setenv(mirrorEnv, tc.url)
		t.Setenv(snapshotEnv, tc.env)
		m, err := findMirror(t.Context())
		if err != nil || m.snapshot != tc.want {
			t.Errorf("%+v: %+v, %v", tc, m, err)
		}
		if got := strings.Count(m.sources("x-backports"), "check-valid-until=no"); (got == 2) != tc.want ||
			!tc.want && got > 0 {
			t.Errorf("%+v:\n%s", tc, m.sources("x-backports"))
		}
	}
	for _, tc := range [][2]string{{debian, "yes please"}, {debian + " sid non-free\ndeb http://h.example", ""},
		{"http://h.example/a b", ""}, {"debian", ""}} {
		t.Setenv(mirrorEnv, tc[0])
		t.Setenv(snapshotEnv, tc[1])
		if m, err := findMirror(t.Context()); err == nil {
			t.Errorf("%q: %+v", tc, m)
		}
	}
}

// As root, what speaks to the network is apt's own user, although the cache is
// where only root can go.
func TestAptDownloadsInItsSandbox(t *testing.T) {
	needRoot(t)
	needApt(t)
	clients := &peers{}
	srv := httptest.NewServer(clients)
	defer srv.Close()
	t.Setenv(mirrorEnv, srv.URL+"/debian")
	t.Setenv("no_proxy", "127.0.0.1")
	dir := filepath.Join(t.TempDir(), "private", "cache")
	must(t, os.Mkdir(filepath.Dir(dir), 0o700))
	c, err := openCache(dir)
	must(t, err)
	var log strings.Builder
	a, err := newApt(t.Context(), c, "sid", &log)
	must(t, err)
	if !a.on {
		t.Skip("no sandbox here: " + log.String())
	}
	if err := a.update(t.Context(), io.Discard); err == nil {
		t.Error("an empty mirror was no error")
	}
	uids := clients.seen()
	if len(uids) == 0 {
		t.Skip("apt did not ask the mirror: a proxy in its configuration?")
	}
	for _, uid := range uids {
		if uid != a.uid {
			t.Errorf("user %d asked the mirror, want %d", uid, a.uid)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("a mount is left: %v", err)
	}
	if _, err := openCache(dir); err != nil {
		t.Errorf("the cache is not trusted any more: %v", err)
	}
}

// peers is a mirror that has nothing and notes whose its clients are.
type peers struct {
	mu   sync.Mutex
	uids []int
}

func (p *peers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	server := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	p.uids = append(p.uids, ownerOfSocket(r.RemoteAddr, server.String()))
	http.NotFound(w, r)
}

func (p *peers) seen() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uids
}

// ownerOfSocket finds the user of the client's end of a connection on this machine in
// /proc/net/tcp (proc(5)), -1 if it is not there. Both ends tell: others may use the same
// port at one of them, and what is left of their old connections is nobody's, user 0.
func ownerOfSocket(client, server string) int {
	table, _ := os.ReadFile("/proc/net/tcp")
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 7 && f[1] == procAddr(client) && f[2] == procAddr(server) {
			uid, err := strconv.Atoi(f[7])
			if err == nil {
				return uid
			}
		}
	}
	return -1
}

// procAddr is an IPv4 address and port as /proc/net/tcp has them on this machine.
func procAddr(addr string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err.Error()
	}
	ip := ap.Addr().Unmap().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), ap.Port())
}

func TestMappedUsers(t *testing.T) {
	for _, tc := range []struct {
		ids  string
		want bool
	}{
		{"         0          0 4294967295\n", true}, {"0 1000 1\n", false}, {"0 1000 1\n1 100000 65536\n", true},
		{"0 1000 42\n", false}, {"0 1000 43\n", true}, {"", false},
	} {
		if got := mapped(tc.ids, 42); got != tc.want {
			t.Errorf("%q: %v", tc.ids, got)
		}
	}
}

// A download counts when its hash is that of the package list.
func TestDownloadsAreHeldAgainstTheList(t *testing.T) {
	a := testApt(t)
	deb := put(t, "not what Debian signed", a.dir, "archives", "a_1_amd64.deb")
	err := checkSHA256(deb, strings.Repeat("0", 64))
	wantDistrust(t, err, "SHA-256 is", "a_1_amd64.deb")
	other := put(t, "", a.dir, "archives", "notes.txt")
	a.clean()
	if _, err := os.Stat(deb); err == nil {
		t.Error("the archive is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if _, err := a.download(context.Background(), debPackage{Name: "-oDir::Bin::dpkg=x", Version: "1"},
		t.TempDir()); err == nil {
		t.Error("an option was taken for a package")
	}
}
