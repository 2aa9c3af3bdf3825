// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/helper"
)

// Where what is ours alone is installed.
const (
	libDir     = "/usr/lib/zcbench"
	shareDir   = "/usr/share/zcbench"
	docDir     = "/usr/share/doc/zcbench"
	licenseDir = "/usr/share/licenses/zcbench" // of rpm
)

// contents collects the files of a package for an architecture.
func (j *job) contents(arch, format string) (*stage, error) {
	s := &stage{dir: filepath.Join(j.work, "stage", format+"-"+arch), built: j.built}
	j.addPrograms(s, arch)
	if err := j.addPages(s); err != nil {
		return nil, err
	}
	if err := j.addDocs(s); err != nil {
		return nil, err
	}
	if format == "deb" {
		j.addDebian(s, arch)
	} else {
		s.put(licenseDir+"/LICENSE", s.read(j.at("LICENSE")), 0o644, "license")
		s.put(licenseDir+"/LICENSE-GPL-2.0", s.read(j.at("lab/softnic/LICENSE")), 0o644, "license")
		if format == "rpm" { // an archive has it beside README.md
			s.put(licenseDir+"/THIRD_PARTY.md", s.read(j.at("THIRD_PARTY.md")), 0o644, "license")
		}
	}
	s.folders(libDir, shareDir, docDir, licenseDir)
	return s, s.err
}

func (j *job) at(name string) string { return filepath.Join(j.root, name) }

// addPrograms adds those for this architecture, and what is sent to hosts of the others, with the
// list that says of which build they are.
func (j *job) addPrograms(s *stage, arch string) {
	for _, p := range []string{"zcbench", "zcrecv", "zcsend"} {
		s.program("/usr/bin/"+p, j.binary(arch, p))
	}
	for _, p := range helper.Names { // nobody starts them by hand
		s.program(libDir+"/"+p, j.binary(arch, p))
	}
	for _, other := range arches {
		for _, p := range carried {
			if other != arch {
				s.program(libDir+"/agents/linux-"+other+"/"+p, j.binary(other, p))
			}
		}
	}
	sums, err := j.sums()
	s.fail(err)
	s.text(libDir+"/agents/"+sumsFile, sums)
}

func (j *job) addPages(s *stage) error {
	pages, err := os.ReadDir(filepath.Join(j.work, "man"))
	if err != nil {
		return err
	}
	for _, p := range pages {
		s.packed("/usr/share/man/man1/"+p.Name()+".gz", s.read(filepath.Join(j.work, "man", p.Name())))
	}
	for _, sh := range shells {
		s.text(sh.file, s.read(filepath.Join(j.work, "completion."+sh.name)))
	}
	return nil
}

// addDocs adds the pages, the examples and the experiments: those that git tracks, because what
// lies there besides is nobody's to publish.
func (j *job) addDocs(s *stage) error {
	out, err := j.output("git", "ls-files", "-z", "docs", "examples", "experiments")
	if err != nil {
		return err
	}
	files := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".go") })
	s.tree(docDir+"/docs", j.root, "docs", files) // as in the checkout: README.md links to them
	s.tree(docDir+"/examples", j.root, "examples", files)
	s.tree(shareDir+"/experiments", j.root, "experiments", files)
	for _, name := range []string{"README.md", "SECURITY.md", "THIRD_PARTY.md"} {
		s.text(docDir+"/"+name, s.read(j.at(name)))
	}
	s.packed(docDir+"/changelog.gz", s.read(j.at("CHANGELOG.md")))
	return nil
}
