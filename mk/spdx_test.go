// SPDX-License-Identifier: MIT

package mk

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is missing or out of date, and do not complain")

// sources are the files that say their licence.
var sources = regexp.MustCompile(`\.(go|c|h|s|sh|mk)$|(^|/)(Makefile|Kbuild)$|^mk/no-services/`)

// spdx is the line that a source file has.
func spdx(path string) string {
	id := "SPDX-License-Identifier: MIT"
	switch {
	case strings.HasPrefix(path, "lab/softnic/"):
		id = "SPDX-License-Identifier: GPL-2.0-only"
	case (strings.HasPrefix(path, "bpf/") || strings.HasPrefix(path, "packet/xdp/")) &&
		(strings.HasSuffix(path, ".c") || strings.HasSuffix(path, ".h")):
		id = "SPDX-License-Identifier: MIT OR GPL-2.0-only"
	}
	switch filepath.Ext(path) {
	case ".go", ".c", ".s":
		return "// " + id
	case ".h":
		return "/* " + id + " */"
	}
	return "# " + id
}

// withLine puts the line first, or behind #!. Go takes a comment that touches the next line
// for a part of what is said of the package there, so a blank line comes behind it.
func withLine(f file) string {
	line := spdx(f.path) + "\n"
	head, rest := "", f.text
	if strings.HasPrefix(rest, "#!") {
		first, behind, _ := strings.Cut(rest, "\n")
		head, rest = first+"\n", behind
	}
	if strings.HasPrefix(rest, line) {
		return f.text
	}
	if ext := filepath.Ext(f.path); ext == ".go" || ext == ".s" {
		line += "\n"
	}
	return head + line + rest
}

// Every source file of ours says its licence. `go test ./mk -run TestSPDX -update` gives the
// line to those that lack it.
func TestSPDX(t *testing.T) {
	var lacking []string
	for _, f := range tracked(t, sources) {
		switch want := withLine(f); {
		case want == f.text:
		case *update:
			must(t, os.WriteFile(filepath.Join("..", f.path), []byte(want), 0o600)) // it keeps its mode
		default:
			lacking = append(lacking, f.path)
		}
	}
	if len(lacking) > 0 {
		t.Errorf("%d files do not say their licence: go test ./mk -run TestSPDX -update\n%s",
			len(lacking), strings.Join(lacking, "\n"))
	}
}

func TestSPDXLine(t *testing.T) {
	for _, x := range []struct{ path, text, want string }{
		{"a/b.go", "// Package b\npackage b\n", "// SPDX-License-Identifier: MIT\n\n// Package b\npackage b\n"},
		{"a/b.go", "//go:build linux\n\npackage b\n",
			"// SPDX-License-Identifier: MIT\n\n//go:build linux\n\npackage b\n"},
		{"a/b.sh", "#!/bin/sh\n# b.sh\n", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n# b.sh\n"},
		{"bpf/b.h", "/* b */\n", "/* SPDX-License-Identifier: MIT OR GPL-2.0-only */\n/* b */\n"},
		{"packet/xdp/b.bpf.c", "int b;\n", "// SPDX-License-Identifier: MIT OR GPL-2.0-only\nint b;\n"},
		{"bpf/b.go", "package b\n", "// SPDX-License-Identifier: MIT\n\npackage b\n"},
		{"lab/softnic/b.c", "int b;\n", "// SPDX-License-Identifier: GPL-2.0-only\nint b;\n"},
	} {
		got := withLine(file{x.path, x.text})
		if got != x.want {
			t.Errorf("%s becomes\n%swant\n%s", x.path, got, x.want)
		}
		if again := withLine(file{x.path, got}); again != got {
			t.Errorf("%s, once more, becomes\n%s", x.path, again)
		}
	}
}

// What the kernel is told is the licence that the files have.
func TestLicenceStrings(t *testing.T) {
	said := regexp.MustCompile(`MODULE_LICENSE\("([^"]*)"\)|SEC\("license"\) = "([^"]*)"`)
	found := 0
	for _, f := range tracked(t, regexp.MustCompile(`^lab/softnic/.*\.c$|\.bpf\.c$`)) {
		want := "Dual MIT/GPL"
		if strings.HasPrefix(f.path, "lab/") {
			want = "GPL" // the kernel's word for version 2, whether or not later ones are allowed
		}
		for _, m := range said.FindAllStringSubmatch(f.text, -1) {
			found++
			if m[1]+m[2] != want {
				t.Errorf("%s tells the kernel %q, want %q", f.path, m[1]+m[2], want)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d files tell the kernel their licence: the form is another one", found)
	}
}
