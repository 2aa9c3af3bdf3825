// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

const stranger = 4711

// farHome is a home on which the scripts run as they do on a far host.
type farHome struct {
	t    *testing.T
	sh   []string
	base string // what the test may make folders in; not its user's alone
	home string
	bin  string // comes first in PATH
	prog program
}

// onShells runs f with each shell that a far host's /bin/sh may be.
func onShells(t *testing.T, f func(t *testing.T, h *farHome)) { onSomeShells(t, nil, f) }

// onSomeShells leaves out those that keep, where it is not nil, does not want: it is
// asked for each that is here, by its turn.
func onSomeShells(t *testing.T, keep func(turn int) bool, f func(t *testing.T, h *farHome)) {
	turn := 0
	for _, sh := range []string{"dash", "bash --posix", "busybox sh", "mksh", "yash", "ksh93"} {
		words := strings.Fields(sh)
		path, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		words[0] = path
		if turn++; keep != nil && !keep(turn) {
			continue
		}
		t.Run(strings.ReplaceAll(sh, " ", "-"), func(t *testing.T) { f(t, newFarHome(t, words)) })
	}
}

func newFarHome(t *testing.T, sh []string) *farHome {
	t.Helper()
	t.Setenv(agentDirEnv, "")
	base := t.TempDir()
	h := &farHome{t: t, sh: sh, base: base, home: filepath.Join(base, "home"), bin: filepath.Join(base, "bin")}
	for _, d := range []string{h.home, h.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.use(t, "echo") // says what it is called with
	return h
}

// use makes a program of the system the one to copy.
func (h *farHome) use(t *testing.T, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	if h.prog, err = readProgram(path); err != nil {
		t.Fatal(err)
	}
}

// ownTools reports whether the shell has programs of its own and uses no [fake].
func (h *farHome) ownTools() bool { return filepath.Base(h.sh[0]) == "busybox" }

// fake puts a script before the system's program of that name; REAL in it is that.
func (h *farHome) fake(name, script string) {
	h.t.Helper()
	real, _ := exec.LookPath(name)
	script = "#!/bin/sh\n" + strings.ReplaceAll(script, "REAL", real) + "\n"
	if err := os.WriteFile(filepath.Join(h.bin, name), []byte(script), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a script and returns what it says and its standard error.
func (h *farHome) run(script, stdin string, env ...string) (out, complaint string, err error) {
	cmd := exec.Command(h.sh[0], append(h.sh[1:], "-c", script, "zcbench", rootScript)...)
	cmd.Dir = h.base
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + h.bin + ":" + os.Getenv("PATH")}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// knock is the state of the program there, and what it says once it runs.
func (h *farHome) knock(sudo bool, env ...string) (state, said, complaint string) {
	h.t.Helper()
	out, complaint, err := h.run(h.prog.knockScript("mark", sudo), "", env...)
	_, line, ok := strings.Cut(out, "mark ")
	line, said, _ = strings.Cut(line, "\n")
	if !ok {
		h.t.Fatalf("no mark: %v\n%s%s", err, out, complaint)
	}
	return strings.Fields(line)[0], said, complaint
}

func (h *farHome) upload(env ...string) (string, error) {
	h.t.Helper()
	content, err := os.ReadFile(h.prog.path)
	if err != nil {
		h.t.Fatal(err)
	}
	_, complaint, err := h.run(h.prog.uploadScript(false), string(content), env...)
	return complaint, err
}

func (h *farHome) mustUpload(env ...string) {
	h.t.Helper()
	if complaint, err := h.upload(env...); err != nil || complaint != "" {
		h.t.Fatalf("upload: %v: %s", err, complaint)
	}
}

// put makes what an upload makes, in no time.
func (h *farHome) put() {
	h.t.Helper()
	content, err := os.ReadFile(h.prog.path)
	must(h.t, err)
	must(h.t, os.MkdirAll(filepath.Dir(h.file()), 0o700))
	must(h.t, os.WriteFile(h.file(), content, 0o700))
}

// place is a path below the folder that keeps programs.
func (h *farHome) place(elem ...string) string {
	dir := h.prog.dir
	if dir == "" {
		dir = filepath.Join(h.home, ".cache/zcbench/agent")
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

func (h *farHome) file() string { return h.place(h.prog.home, h.prog.name) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestScriptsCopyAndStart(t *testing.T) {
	onShells(t, func(t *testing.T, h *farHome) {
		if state, _, complaint := h.knock(false); state != "missing" || complaint != "" {
			t.Fatalf("nothing is there, and it says %s: %s", state, complaint)
		}
		if _, err := os.Lstat(filepath.Join(h.home, ".cache")); err == nil {
			t.Error("asking made a folder")
		}
		h.mustUpload()
		if state, said, complaint := h.knock(false); state != "ready" || said != "agent\n" {
			t.Fatalf("%s, said %q: %s", state, said, complaint)
		}
		for p := h.file(); p != h.home; p = filepath.Dir(p) {
			if st, err := os.Stat(p); err != nil || st.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", p, st.Mode(), err)
			}
		}
		if left, _ := filepath.Glob(h.place("*", ".part*")); left != nil {
			t.Errorf("left: %v", left)
		}
		must(t, os.WriteFile(h.file(), []byte("#!/bin/sh\n"), 0o700))
		if state, said, _ := h.knock(false); state != "damaged" || said != "" {
			t.Errorf("a changed program: %s, said %q", state, said)
		}
		h.mustUpload()
		if state, _, _ := h.knock(false); state != "ready" {
			t.Errorf("after another upload: %s", state)
		}
		if complaint, err := func() (string, error) {
			p := h.prog
			p.home, p.sum = strings.Repeat("0", 64), strings.Repeat("0", 64)
			_, complaint, err := h.run(p.uploadScript(false), "half of it")
			return complaint, err
		}(); err == nil || !strings.Contains(complaint, "did not arrive as it was sent") {
			t.Errorf("half a program: %v: %s", err, complaint)
		}
		if got, _ := filepath.Glob(h.place(strings.Repeat("0", 64), "*")); got != nil {
			t.Errorf("half a program left %v", got)
		}
	})
}

// The usual folder is the user's cache, wherever that is.
func TestScriptsFolder(t *testing.T) {
	onShells(t, func(t *testing.T, h *farHome) {
		xdg := filepath.Join(h.base, "with a blank, [a-z]* and \"quotes\"")
		h.mustUpload("XDG_CACHE_HOME=" + xdg)
		if _, err := os.Stat(filepath.Join(xdg, "zcbench/agent", h.prog.home, "zcbench")); err != nil {
			t.Error(err)
		}
		if state, _, _ := h.knock(false, "XDG_CACHE_HOME="+xdg); state != "ready" {
			t.Errorf("XDG_CACHE_HOME: %s", state)
		}
		h.mustUpload("XDG_CACHE_HOME=relative/path") // which is to be ignored
		if _, err := os.Stat(h.file()); err != nil {
			t.Error(err)
		}
		if state, _, complaint := h.knock(false, "HOME="); state != "refused" || !strings.Contains(complaint, "HOME") {
			t.Errorf("no HOME: %s: %s", state, complaint)
		}
		must(t, os.Symlink(xdg, filepath.Join(h.base, "link")))
		if state, _, complaint := h.knock(false, "XDG_CACHE_HOME="+h.base+"/./link/../link"); state != "ready" {
			t.Errorf("by a link: %s: %s", state, complaint)
		}
		h.prog.dir = filepath.Join(h.base, "deep", "er", ownDir)
		h.mustUpload()
		if _, err := os.Stat(h.file()); err != nil {
			t.Error(err)
		}
	})
}

// strangersList is an access list (linux/posix_acl_xattr.h) that lets a stranger write.
func strangersList() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 7, 1<<32 - 1}, {2, 7, stranger}, {4, 0, 1<<32 - 1}, {16, 7, 1<<32 - 1},
		{32, 0, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

// A place that another user could change is refused before anything in it is
// hashed, run, or written. The short run has each place on every other shell, and on
// each shell every other place.
func TestScriptsRefuseStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	const sharedName = "shared"
	const listCase = "a stranger on our folder's access list"
	for i, c := range []struct {
		name  string
		spoil func(h *farHome, shared string)
		why   string // "": it is allowed
	}{
		{"as it should be", func(*farHome, string) {}, ""},
		{"sticky parent", func(_ *farHome, s string) { must(t, os.Chmod(s, 0o777|os.ModeSticky)) }, ""},
		{"root's group writes", func(h *farHome, _ string) { must(t, os.Chmod(h.place(), 0o770)) }, ""},
		{"parent of a stranger", func(_ *farHome, s string) { must(t, os.Chown(s, stranger, stranger)) },
			"shared belongs to user 4711"},
		{"sticky parent of a stranger", func(_ *farHome, s string) {
			must(t, os.Chown(s, stranger, stranger))
			must(t, os.Chmod(s, 0o777|os.ModeSticky))
		}, "shared belongs to user 4711"},
		{"open parent", func(_ *farHome, s string) { must(t, os.Chmod(s, 0o777)) }, "shared is writable by everybody"},
		{"parent of a group", func(_ *farHome, s string) {
			must(t, os.Chown(s, 0, stranger))
			must(t, os.Chmod(s, 0o775))
		}, "shared is writable by group 4711"},
		{"our folder a stranger's", func(h *farHome, _ string) { must(t, os.Chown(h.place(), stranger, stranger)) },
			"zcbench-agent belongs to user 4711"},
		{"the program's folder a stranger's",
			func(h *farHome, _ string) { must(t, os.Chown(h.place(h.prog.home), stranger, -1)) },
			"belongs to user 4711"},
		{"the program's folder open",
			func(h *farHome, _ string) { must(t, os.Chmod(h.place(h.prog.home), 0o777|os.ModeSticky)) },
			"is writable by everybody"},
		{"the program a stranger's", func(h *farHome, _ string) { must(t, os.Chown(h.file(), stranger, -1)) },
			"zcbench belongs to user 4711"},
		{"the program of a group", func(h *farHome, _ string) {
			must(t, os.Chown(h.file(), 0, stranger))
			must(t, os.Chmod(h.file(), 0o770))
		}, "zcbench is writable by group 4711"},
		{"the program open", func(h *farHome, _ string) { must(t, os.Chmod(h.file(), 0o702)) },
			"zcbench is writable by everybody"},
		{listCase, func(h *farHome, _ string) {
			must(t, os.Chmod(h.place(), 0o770))
			must(t, unix.Setxattr(h.place(), "system.posix_acl_access", strangersList(), 0))
		}, "zcbench-agent is writable by others through its access list"},
		{"the program a link", func(h *farHome, s string) {
			must(t, os.Rename(h.file(), s+"/elsewhere"))
			must(t, os.Symlink(s+"/elsewhere", h.file()))
		}, "zcbench is a link"},
		{"the program a pipe", func(h *farHome, _ string) {
			must(t, os.Remove(h.file()))
			must(t, unix.Mkfifo(h.file(), 0o700))
		}, "is not a regular file"},
		{"our folder a stranger's link", func(h *farHome, s string) {
			must(t, os.Rename(h.place(), s+"/real"))
			must(t, os.Symlink("real", h.place()))
			must(t, os.Lchown(h.place(), stranger, stranger))
			must(t, os.Chmod(s, 0o777|os.ModeSticky))
		}, "zcbench-agent belongs to user 4711"},
		{"our folder a link to a stranger's", func(h *farHome, s string) {
			must(t, os.Mkdir(s+"/theirs", 0o755))
			must(t, os.Rename(h.place(), s+"/theirs/real"))
			must(t, os.Symlink("theirs/real", h.place()))
			must(t, os.Chown(s+"/theirs", stranger, stranger))
		}, "theirs belongs to user 4711"},
	} {
		t.Run(c.name, func(t *testing.T) {
			half := func(turn int) bool { return long.Wanted() || (turn+i)%2 == 1 }
			onSomeShells(t, half, func(t *testing.T, h *farHome) {
				if c.name == listCase && strings.Contains(t.Name(), "busybox") {
					return // its ls shows no lists
				}
				shared := filepath.Join(h.base, sharedName)
				h.prog.dir = filepath.Join(shared, ownDir)
				h.put()
				h.fake("sha256sum", "touch "+h.base+"/hashed; exec REAL")
				c.spoil(h, shared)
				state, said, complaint := h.knock(false)
				if c.why == "" {
					if state != "ready" || said != "agent\n" {
						t.Errorf("%s: %s", state, complaint)
					}
					return
				}
				if state != "refused" || said != "" || !strings.Contains(complaint, c.why) {
					t.Errorf("asked: %s, said %q: %s", state, said, complaint)
				}
				before := tree(t, h.base)
				if complaint, err := h.upload(); err == nil || !strings.Contains(complaint, c.why) {
					t.Errorf("copied: %v: %s", err, complaint)
				}
				if _, err := os.Stat(h.base + "/hashed"); err == nil {
					t.Error("it was hashed")
				}
				if after := tree(t, h.base); after != before {
					t.Errorf("copying changed the place from\n%s to\n%s", before, after)
				}
			})
		})
	}
}

// tree is what lies below a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%p %m %U %l\n").Output()
	must(t, err)
	return string(out)
}

// What was hashed runs, also where the name stands for another program since.
func TestScriptsRunWhatWasHashed(t *testing.T) {
	onShells(t, func(t *testing.T, h *farHome) {
		if h.ownTools() {
			return
		}
		h.put()
		evil := filepath.Join(h.base, "evil")
		must(t, os.WriteFile(evil, []byte("#!/bin/sh\necho evil\n"), 0o755))
		h.fake("sha256sum", "REAL; cp "+evil+" "+h.base+"/new; mv "+h.base+"/new "+h.file())
		if state, said, complaint := h.knock(false); state != "ready" || said != "agent\n" {
			t.Errorf("%s, said %q: %s", state, said, complaint)
		}
		if b, _ := os.ReadFile(h.file()); !strings.Contains(string(b), "evil") {
			t.Fatal("the program was not swapped: the test proves nothing")
		}
	})
}

// sudo closes the descriptors of who calls it: root opens and hashes anew.
func TestScriptsRootRunsWhatWasHashed(t *testing.T) {
	onShells(t, func(t *testing.T, h *farHome) {
		if h.ownTools() {
			return
		}
		h.put()
		evil := filepath.Join(h.base, "evil")
		must(t, os.WriteFile(evil, []byte("#!/bin/sh\necho evil\n"), 0o755))
		h.fake("id", "echo 1000")
		sudo := `[ "$1 $2" = "-n --" ] || exit 9; shift 2; exec 9<&-; `
		h.fake("sudo", sudo+`exec "$@"`)
		if state, said, complaint := h.knock(true); state != "ready" || said != "agent\n" {
			t.Fatalf("%s, said %q: %s", state, said, complaint)
		}
		h.fake("sudo", sudo+"mv "+h.file()+" "+h.base+"/moved; cp "+evil+" "+h.file()+`; exec "$@"`)
		if _, said, complaint := h.knock(true); said != "" ||
			!strings.Contains(complaint, "was changed before root could run it") {
			t.Errorf("swapped before root opened it: said %q: %s", said, complaint)
		}
		must(t, os.Rename(h.base+"/moved", h.file()))
		h.fake("sudo", sudo+`exec "$@"`)
		h.fake("sha256sum", "REAL; cp "+evil+" "+h.base+"/new; [ -e "+h.base+"/first ] && mv "+h.base+"/new "+
			h.file()+"; touch "+h.base+"/first")
		if _, said, complaint := h.knock(true); said != "agent\n" {
			t.Errorf("swapped after root hashed it: said %q: %s", said, complaint)
		}
		if b, _ := os.ReadFile(h.file()); !strings.Contains(string(b), "evil") {
			t.Fatal("the program was not swapped: the test proves nothing")
		}
	})
}

// A far host whose stat is no good is refused, not believed.
func TestScriptsNeedStat(t *testing.T) {
	onShells(t, func(t *testing.T, h *farHome) {
		if h.ownTools() {
			return
		}
		h.put()
		for _, fake := range []string{"exit 127", "exit 0", "echo stat: what is -c",
			`case "$*" in *%u\ *) exit 0;; *) exec REAL "$@";; esac`} {
			h.fake("stat", fake)
			if state, _, complaint := h.knock(false); state != "refused" || !strings.Contains(complaint, "stat ") {
				t.Errorf("%s: %s: %s", fake, state, complaint)
			}
		}
	})
}

// The scripts are one word in single quotes for every login shell.
func TestScriptsAreOneWord(t *testing.T) {
	p := program{dir: "/x", home: "y", name: "z", sum: "0", machine: "x86_64"}
	for name, s := range map[string]string{"knock": p.knockScript("mark", true), "upload": p.uploadScript(true),
		"root": rootScript} {
		if i := strings.IndexAny(s, "'!\n\\"); i >= 0 {
			t.Errorf("%s has %q", name, s[i:i+20])
		}
		t.Logf("%s: %d bytes", name, len(s))
	}
}

func TestAgentDir(t *testing.T) {
	for in, want := range map[string]string{"": "", "/opt": "/opt/zcbench-agent", "/opt/": "/opt/zcbench-agent",
		"//srv//a.b/": "/srv/a.b/zcbench-agent",
		"/...":        "/.../zcbench-agent", "/etc": "/etc/zcbench-agent"} {
		if got, err := agentDir(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"/", "//", "/.", "/./", "/..", "/opt/..", "/opt/../..", "/opt/../etc", "opt", "./opt",
		"~/x", "/a b", "/a'b", "/a\"b", "/$HOME", "/`x`", "/a\n/b", "/a*"} {
		if got, err := agentDir(in); err == nil || !strings.Contains(err.Error(), agentDirEnv) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
