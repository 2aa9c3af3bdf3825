// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// foreign is an architecture that this is not, with its name in uname -m.
func foreign() (arch, machine string) {
	arch = "arm64"
	if runtime.GOARCH == arch {
		arch = "amd64"
	}
	return arch, machines[arch]
}

// agents are a build in a folder: its program in bin, those for another machine in dir.
type agents struct {
	t        *testing.T
	bin, dir string
}

func newAgents(t *testing.T, dir string) *agents {
	t.Helper()
	base := t.TempDir()
	a := &agents{t, filepath.Join(base, "bin/zcbench"), filepath.Join(base, "bin", dir)}
	arch, _ := foreign()
	a.put(a.bin, "ours")
	a.put(a.at("zcbench"), "theirs")
	a.put(a.at("zcnvml"), "their helper")
	a.sums(a.line("ours", "linux-"+runtime.GOARCH+"/zcbench"), a.line("theirs", "linux-"+arch+"/zcbench"),
		a.line("their helper", "linux-"+arch+"/zcnvml"))
	return a
}

func (a *agents) at(name string) string {
	arch, _ := foreign()
	return filepath.Join(a.dir, "linux-"+arch, name)
}

func (a *agents) put(path, text string) {
	a.t.Helper()
	must(a.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(a.t, os.WriteFile(path, []byte(text), 0o755))
}

func (a *agents) line(text, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name)
}

func (a *agents) sums(lines ...string) {
	a.put(filepath.Join(a.dir, sumsFile), strings.Join(lines, ""))
}

func (a *agents) pick() (program, error) {
	a.t.Helper()
	own, err := readProgram(a.bin)
	must(a.t, err)
	_, machine := foreign()
	return own.onMachine(machine)
}

// The program for another machine is the one of the same build, in a checkout and in a package.
func TestAgents(t *testing.T) {
	for _, dir := range agentsDirs {
		a := newAgents(t, dir)
		link := filepath.Join(t.TempDir(), "zcbench") // as in /usr/local/bin
		must(t, os.Symlink(a.bin, link))
		a.bin = link
		got, err := a.pick()
		must(t, err)
		_, machine := foreign()
		want := fmt.Sprintf("%x", sha256.Sum256([]byte("theirs")))
		if got.machine != machine || got.sum != want || got.home != want || got.name != "zcbench" ||
			got.path != a.at("zcbench") {
			t.Errorf("%s: %+v", dir, got)
		}
		own, err := readProgram(a.bin)
		must(t, err)
		helper, err := got.beside(own, "zcnvml")
		if err != nil || helper.path != a.at("zcnvml") ||
			helper.sum != fmt.Sprintf("%x", sha256.Sum256([]byte("their helper"))) {
			t.Errorf("%s: helper %+v, %v", dir, helper, err)
		}
	}
}

// A far end of another architecture gets the helper for that. Whether this machine has one of its
// own is not asked.
func TestAgentsHelper(t *testing.T) {
	arch, machine := foreign()
	a := newAgents(t, agentsDirs[0])
	ours, theirs := elfHeader(machines[runtime.GOARCH]), elfHeader(machine)
	a.put(a.bin, ours)
	a.put(a.at("zcbench"), theirs)
	a.put(a.at("zcnvml"), theirs+"helper")
	a.sums(a.line(ours, "linux-"+runtime.GOARCH+"/zcbench"), a.line(theirs, "linux-"+arch+"/zcbench"),
		a.line(theirs+"helper", "linux-"+arch+"/zcnvml"))
	own, err := readProgram(a.bin)
	must(t, err)
	agent, err := own.onMachine(machine)
	must(t, err)
	helper, err := agent.helper(own, "zcnvml", func() (string, error) {
		return "",
			errors.New("this machine's helper is read")
	})
	if err != nil || helper.path != a.at("zcnvml") || helper.home != agent.sum || helper.name != "zcnvml" {
		t.Errorf("%+v, %v", helper, err)
	}
	if _, err := own.helper(own, "zcnvml", func() (string, error) { return a.at("zcnvml"), nil }); err == nil ||
		!strings.Contains(err.Error(), "is built for") {
		t.Errorf("a helper for another machine: %v", err)
	}
}

// elfHeader is as much of a program as says what machine it is for.
func elfHeader(machine string) string {
	h := elf.Header64{Type: uint16(elf.ET_EXEC),
		Machine: uint16(map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64}[machine]),
		Version: 1, Ehsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	return b.String()
}

// What is not of this build, or could be another user's, is not sent to a host.
func TestAgentsRefused(t *testing.T) {
	arch, machine := foreign()
	for _, c := range []struct {
		name  string
		spoil func(a *agents)
		want  string
	}{
		{"none", func(a *agents) { must(t, os.RemoveAll(a.dir)) }, "no SHA256SUMS in "},
		{"no program", func(a *agents) { must(t, os.Remove(a.at("zcbench"))) }, "zcbench is not there"},
		{"not listed", func(a *agents) { a.sums(a.line("ours", "linux-"+runtime.GOARCH+"/zcbench")) },
			"has no linux-" + arch + "/zcbench"},
		{"another build's", func(a *agents) { a.put(a.bin, "ours, a day later") }, "is of another build than"},
		{"changed", func(a *agents) { a.put(a.at("zcbench"), "hacked") }, "is not the one of this build"},
		{"cut off", func(a *agents) { a.put(a.at("zcbench"), "the") }, "is not the one of this build"},
		{"open", func(a *agents) { must(t, os.Chmod(a.at("zcbench"), 0o777)) }, "put there by another user"},
		{"an open list", func(a *agents) { must(t, os.Chmod(filepath.Join(a.dir, sumsFile), 0o666)) },
			"put there by another user"},
		{"an open folder", func(a *agents) { must(t, os.Chmod(a.dir, 0o777)) }, "put there by another user"},
		{"a stranger's", func(a *agents) { must(t, os.Chown(a.at("zcbench"), stranger, stranger)) },
			"put there by another user"},
		{"no list", func(a *agents) { a.sums("hello\n") }, `line 1: "hello"`},
	} {
		if c.name == "a stranger's" && os.Geteuid() != 0 {
			continue // who is not root can give nothing away
		}
		a := newAgents(t, agentsDirs[0])
		c.spoil(a)
		_, err := a.pick()
		if err == nil {
			t.Errorf("%s: taken", c.name)
			continue
		}
		for _, want := range []string{c.want, "it is Linux/" + machine, "built for Linux/" + machines[runtime.GOARCH]} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, lacks %q", c.name, err, want)
			}
		}
		if fault.Fix(err) == "" {
			t.Errorf("%s: no fix: %v", c.name, err)
		}
	}
}

func TestParseSums(t *testing.T) {
	ok := strings.Repeat("0", 64) + "  linux-arm64/zcbench\n"
	for in, want := range map[string]string{
		"": "", ok: "", strings.TrimSuffix(ok, "\n"): "",
		ok + ok:                               "line 2: linux-arm64/zcbench is there twice",
		"0" + ok:                              "line 1: ",
		ok + "\n":                             "line 2: ",
		strings.Replace(ok, "linux", "..", 1): "line 1: ",
		strings.Replace(ok, "linux", "/x", 1): "line 1: ",
		strings.Replace(ok, "  ", " *", 1):    "line 1: ",
		strings.Repeat(ok, 1000):              "longer than",
	} {
		_, err := parseSums(strings.NewReader(in))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", in, err, want)
		}
	}
}

// No list leads out of its folder.
func FuzzParseSums(f *testing.F) {
	f.Add(strings.Repeat("0", 64) + "  linux-arm64/zcbench\n")
	f.Add("x\n")
	f.Fuzz(func(t *testing.T, in string) {
		sums, err := parseSums(strings.NewReader(in))
		if err != nil {
			return
		}
		var again strings.Builder
		for _, s := range sums {
			if !filepath.IsLocal(s.name) || len(s.sum) != 64 {
				t.Errorf("%q has %+v", in, s)
			}
			again.WriteString(s.sum + "  " + s.name + "\n")
		}
		if strings.TrimSuffix(again.String(), "\n") != strings.TrimSuffix(in, "\n") {
			t.Errorf("%q was read as %q", in, again.String())
		}
	})
}
