// SPDX-License-Identifier: MIT

package mk

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// thirdParty is the list of what the programs contain of others.
const thirdParty = "../THIRD_PARTY.md"

// linked is a module of which a program contains a part.
type linked struct {
	path, version string
	root          string
	folders       map[string]bool // of the packages
	programs      map[string]bool
}

// links are the modules in the programs that make build builds, on either architecture. No
// network is asked: the modules were needed to build this.
func links(t *testing.T) map[string]*linked {
	t.Helper()
	all := map[string]*linked{}
	for _, program := range []string{"zcbench", "zcrecv", "zcsend", "zcnvml", "zcgpu"} {
		for _, arch := range []string{"amd64", "arm64"} {
			cmd := exec.Command("go", "list", "-deps", "-tags", "giouring", "-f",
				"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}",
				"./cmd/"+program)
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOPROXY=off")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v", cmd, err)
			}
			for line := range strings.Lines(string(out)) {
				f := strings.Split(strings.TrimRight(line, "\n"), "\t")
				if len(f) != 4 {
					t.Fatalf("go list: %q", line)
				}
				m := all[f[0]]
				if m == nil {
					m = &linked{f[0], f[1], f[2], map[string]bool{}, map[string]bool{}}
					all[f[0]] = m
				}
				m.folders[f[3]], m.programs[program] = true, true
			}
		}
	}
	return all
}

// elsewhere are texts that a module's LICENSE leaves to a file of another name. Of two to
// choose from it is the one chosen here.
var elsewhere = map[string]string{"github.com/golang/freetype": "licenses/ftl.txt"}

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice)`)

// texts are the licences and notices of the packages that are linked, and of the folders
// above them.
func (m *linked) texts(t *testing.T) (all []string) {
	t.Helper()
	folders := map[string]bool{}
	for folder := range m.folders {
		for ; len(folder) >= len(m.root); folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	var names []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(folder)
		must(t, err)
		for _, e := range entries {
			if e.Type().IsRegular() && licenceFile.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				names = append(names, filepath.Join(folder, e.Name()))
			}
		}
	}
	if name := elsewhere[m.path]; name != "" {
		names = append(names, filepath.Join(m.root, name))
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		all = append(all, tidy(string(b)))
	}
	return all
}

// tidy takes what means nothing off a text.
func tidy(text string) string {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r", ""), "\ufeff")
	return strings.Trim(regexp.MustCompile(`(?m)[ \t\f]+$`).ReplaceAllString(text, ""), "\n")
}

// signs are the words by which a licence is known.
var signs = []struct {
	id   string
	said *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`(?s)Apache License\s+Version 2\.0`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistributions in binary form must reproduce`)},
	{"BSD-3-Clause", regexp.MustCompile(`(?s)Neither\s+the\s+names?\s+of`)},
	{"CC-BY-4.0", regexp.MustCompile(`Creative Commons Attribution 4\.0`)},
	{"FTL", regexp.MustCompile(`The FreeType Project LICENSE`)},
	{"MIT", regexp.MustCompile(`to deal in the Software without restriction`)},
	{"OFL-1.1", regexp.MustCompile(`SIL OPEN FONT LICENSE Version 1\.1`)},
}

// identify names the licences in texts, "" if one has none that is known.
func identify(texts []string) string {
	found := map[string]bool{}
	for _, s := range signs {
		for _, text := range texts {
			if s.said.MatchString(strings.Join(strings.Fields(text), " ")) {
				found[s.id] = true
			}
		}
	}
	if found["BSD-3-Clause"] { // it has the words of the other, too
		delete(found, "BSD-2-Clause")
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

const thirdPartyHead = `# What the programs contain of others

This list is generated (` + "`go test ./mk -run TestThirdParty -update`" + `) from what the linker
is given for zcbench, zcrecv, zcsend, zcnvml and zcgpu on amd64 and arm64; a test holds it to that.
The texts below are those that the modules come with. Where a text offers a choice, freetype's is
the FreeType licence.

zcbench also contains, as data, the source of the soft NIC's kernel module (lab/softnic,
GPL-2.0-only, with its licence) and the objects of the eBPF programs (bpf and
packet/xdp, MIT OR GPL-2.0-only).

| module | version | licence | in |
|---|---|---|---|
`

// list is what THIRD_PARTY.md has to say.
func list(t *testing.T) string {
	t.Helper()
	all := links(t)
	var b strings.Builder
	b.WriteString(thirdPartyHead)
	users := map[string][]string{} // of a text
	var order []string
	note := func(module string, texts []string) {
		for _, text := range texts {
			if users[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(users[text], module) {
				users[text] = append(users[text], module)
			}
		}
	}
	// Go's own text is that of golang.org/x; a distribution may keep its copy elsewhere.
	const goName = "Go: the standard library and the runtime"
	fmt.Fprintf(&b, "| %s | the one that built it | BSD-3-Clause | all |\n", goName)
	note(goName, all["golang.org/x/sys"].texts(t))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		m := all[path]
		texts := m.texts(t)
		id := identify(texts)
		if id == "" {
			t.Errorf("%s: no licence that is known: say its sign in mk/licences_test.go", path)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", path, m.version, id,
			strings.Join(slices.Sorted(maps.Keys(m.programs)), ", "))
		note(path, texts)
	}
	for _, text := range order {
		fmt.Fprintf(&b, "\n## %s\n\n", strings.Join(users[text], ", "))
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
	}
	return b.String()
}

// THIRD_PARTY.md has every module that is linked, in the version that is, with its licence.
func TestThirdParty(t *testing.T) {
	want := list(t)
	if *update {
		must(t, os.WriteFile(thirdParty, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(thirdParty)
	must(t, err)
	if string(got) == want {
		return
	}
	t.Error("THIRD_PARTY.md is not what is linked: go test ./mk -run TestThirdParty -update")
	have := strings.Split(string(got), "\n")
	for line := range strings.SplitSeq(want, "\n") {
		if strings.HasPrefix(line, "| ") && !slices.Contains(have, line) {
			t.Errorf("it lacks %s", line)
		}
	}
}

func TestIdentify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                     "Apache-2.0",
		"to deal in the\nSoftware without restriction":                                    "MIT",
		"Redistributions in binary form must reproduce the above\ncopyright":              "BSD-2-Clause",
		"Redistributions in binary form must reproduce\nthe above. Neither the\nname of ": "BSD-3-Clause",
		"All rights reserved.": "",
	} {
		if got := identify([]string{text}); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
