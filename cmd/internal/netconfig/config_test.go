// SPDX-License-Identifier: MIT

package netconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// environ is an environment of these variables.
func environ(v map[string]string) func(string) string { return func(n string) string { return v[n] } }

// complete is what a test needs.
var complete = map[string]string{"NETIF": "eth1", "LOCAL_V4": "192.0.2.1", "REMOTE_V4": "192.0.2.2",
	"LOCAL_V6": "2001:db8::1", "REMOTE_V6": "2001:db8::2",
	"REMOTE_TYPE": "ssh", "REMOTE_ARGS": "root@peer"}

func with(changes ...string) map[string]string {
	out := map[string]string{}
	for k, v := range complete {
		out[k] = v
	}
	for _, c := range changes {
		k, v, _ := strings.Cut(c, "=")
		out[k] = v
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for _, x := range []struct{ change, want string }{
		{"", ""}, {"LOCAL_V6=,REMOTE_V6=", ""}, {"REMOTE_TYPE=netns,REMOTE_ARGS=peer", ""},
		{"LOCAL_V4=,REMOTE_V4=", ""},
		{"REMOTE_TYPE=", "no REMOTE_TYPE"}, {"REMOTE_ARGS=", "no REMOTE_ARGS"},
		{"LOCAL_V4=,LOCAL_V6=", "no LOCAL_V4 or LOCAL_V6"},
		{"REMOTE_V6=", "LOCAL_V6 is there without REMOTE_V6"}, {"LOCAL_V4=", "REMOTE_V4 is there without LOCAL_V4"},
		{"LOCAL_V4=2001:db8::1", "want an IPv4 address"}, {"REMOTE_V6=192.0.2.1", "want an IPv6 address"},
		{"REMOTE_V4=peer", "want an IPv4 address"},
		{"REMOTE_TYPE=serial", "want ssh or netns"}, {"REMOTE_ARGS=-oProxyCommand=x", "REMOTE_ARGS="},
	} {
		c, err := Load(Folder{Path: t.TempDir(), Named: true}, environ(with(strings.Split(x.change, ",")...)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.change, err, x.want)
		}
	}
}

// The file counts where both say something, as in the kernel's tests; it lies beside a test or in
// the folder above.
func TestLoadFile(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "hw")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(above, configFile), "# of the rack\nNETIF=eth7 # port "+
		"2\nLOCAL_V4=\"198.51.100.1\"\nREMOTE_ARGS='root@far'\n\nDISRUPTIVE=False\n")
	c, err := Load(Folder{dir, true}, environ(complete))
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{c.Dev, c.LocalV4, c.RemoteV4, c.RemoteArgs}; !cmp.Equal(got, []string{"eth7", "198.51.100.1",
		"192.0.2.2", "root@far"}) {
		t.Errorf("%q", got)
	}
	if h, err := c.Remote(); h != "ssh:root@far" || err != nil {
		t.Errorf("%s, %v", h, err)
	}
	write(t, filepath.Join(dir, configFile), "NETIF=eth8\n")
	if c, err = Load(Folder{dir, true}, environ(complete)); err != nil || c.Dev != "eth8" || c.LocalV4 != "192.0.2.1" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"NETIF", "=x", "A-B=x", `NETIF="eth0`, "NETIF=$(id)", "NETIF=`id`", `NETIF=a"b`} {
		write(t, filepath.Join(dir, configFile), "\n"+bad+"\n")
		if _, err := Load(Folder{dir, true}, environ(complete)); err == nil ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	write(t, filepath.Join(dir, configFile), strings.Repeat("#", maxFile+1))
	if _, err := Load(Folder{dir, true}, environ(nil)); err == nil {
		t.Error("a file without an end is read")
	}
}

// What somebody else may have left in the folder where root happens to be says nothing.
func TestLoadStranger(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, configFile)
	write(t, path, "NETIF=evil\n")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(Folder{Path: dir}, environ(nil)); err == nil {
		t.Errorf("taken: %+v", c)
	}
	if c, err := Load(Folder{dir, true}, environ(nil)); err != nil || c.Dev != "evil" {
		t.Errorf("a folder that the user named: %+v, %v", c, err)
	}
}

// A FIFO that nobody writes to is refused, and not waited for.
func TestLoadFIFO(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{configFile, settingsFile} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, named := range []bool{true, false} {
		if _, err := Load(Folder{dir, named}, environ(complete)); err == nil ||
			!strings.Contains(err.Error(), "regular file") {
			t.Errorf("named %v: %v", named, err)
		}
		if _, _, err := Limit(Folder{dir, named}, environ(nil)); err == nil ||
			!strings.Contains(err.Error(), "regular file") {
			t.Errorf("named %v, settings: %v", named, err)
		}
	}
}

func TestLimit(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, settingsFile)
	for _, x := range []struct {
		variable, file string
		want           time.Duration
		bad            bool
	}{
		{"", "", 0, false}, {"45", "timeout=600", 45 * time.Second, false},
		{"", "# slow\ntimeout=600\n", 600 * time.Second, false}, {"", "timeout=0", 0, false},
		{"", "args=x\ntimeout=5m", 5 * time.Minute, false}, {"", "timeout=1d", 24 * time.Hour, false},
		{"", "timeout=1.5", 1500 * time.Millisecond, false},
		{"", "timeout=soon", 0, true}, {"-1", "", 0, true}, {"", "timeout=", 0, true}, {"9999999999", "", 0, true},
		{"7d", "", maxLimit, false}, {"7.1d", "", 0, true}, {"900000d", "", 0, true}, {"1d1h", "", 0, true},
		{"1h1d", "", 0, true}, {"d", "", 0, true},
		{"5ms", "", 0, true}, {"Inf", "", 0, true}, {"NaN", "", 0, true}, {"0x10", "", 0, true}, {"1e3", "", 0, true},
		{".5m", "", 30 * time.Second, false},
	} {
		write(t, settings, x.file)
		got, says, err := Limit(Folder{dir, true}, environ(map[string]string{"kselftest_timeout": x.variable}))
		if got != x.want || (err != nil) != x.bad || (says != "") != (x.variable != "" ||
			strings.Contains(x.file, "timeout=")) && !x.bad {
			t.Errorf("%q, %q: %v by %q, %v", x.variable, x.file, got, says, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"NETIF=eth0\n", "A=\"b c\" # d", "timeout=600", "=", "A=\"", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		lines, err := parse(data)
		if err != nil && lines != nil {
			t.Error("lines with an error")
		}
		for _, l := range lines {
			if !isName(l.name) || strings.ContainsAny(l.value, "\n\"'`$\\\x00") {
				t.Errorf("%+v of %q", l, data)
			}
		}
		if d, err := seconds(data); err == nil && (d < 0 || d > maxLimit) {
			t.Errorf("%q is %v", data, d)
		}
	})
}
