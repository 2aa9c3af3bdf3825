// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"time"
)

// addDebian adds what Debian's policy asks of a package, and what it is asked to excuse.
func (j *job) addDebian(s *stage, arch string) {
	s.text(docDir+"/copyright", []byte(copyright(string(s.read(j.at("LICENSE"))))))
	s.packed(docDir+"/changelog.Debian.gz", []byte(j.debianChangelog(s)))
	s.text("/usr/share/lintian/overrides/zcbench", []byte(overrides(arch)))
}

// debianChangelog writes the one entry that this package is.
func (j *job) debianChangelog(s *stage) string {
	v, err := sortable(j.version)
	s.fail(err)
	return fmt.Sprintf("zcbench (%s) unstable; urgency=medium\n\n  * Version %s:\n    see changelog.gz beside "+
		"this file.\n\n -- %s  %s\n",
		v+"-"+release, j.version, j.maintainer, j.built.Format(time.RFC1123Z))
}

// copyright writes a machine-readable debian/copyright. License is the text of LICENSE.
func copyright(license string) string {
	holder, text, _ := strings.Cut(strings.TrimPrefix(license, "MIT License\n\n"), "\n\n")
	return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: zcbench
Source: https://github.com/zcbench/zcbench
Comment:
 The programs are linked with Go modules of others. THIRD_PARTY.md, in the
 folder of this file, lists them with their versions and the texts of their
 licences. zcbench has the source of a kernel module in it as data, the soft
 NIC of its lab, which it builds on demand, and objects of eBPF programs.

Files: *
` + holderField(holder) + `
License: MIT

Files: lab/softnic/*
` + holderField(holder) + `
License: GPL-2.0-only

Files: bpf/*.bpf.c packet/xdp/*.bpf.c
` + holderField(holder) + `
License: MIT or GPL-2.0-only

License: MIT
` + continued(text) + `
License: GPL-2.0-only
 This program is free software; you can redistribute it and/or modify
 it under the terms of the GNU General Public License version 2 as
 published by the Free Software Foundation.
 .
 On Debian systems, the complete text of the GNU General Public License
 version 2 is in /usr/share/common-licenses/GPL-2.
`
}

// holderField turns the line "Copyright (c) YEAR HOLDER" into a Copyright field.
func holderField(line string) string {
	return "Copyright: " + strings.TrimPrefix(strings.TrimSpace(line), "Copyright (c) ")
}

// continued formats a text as it stands in a field of several lines.
func continued(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if line = strings.TrimSpace(line); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}

// overrides lists for lintian what is meant to be as it is.
func overrides(arch string) string {
	var b strings.Builder
	b.WriteString("# Go programs are static: they run on every Linux, and zcbench copies itself to hosts.\n")
	for _, p := range []string{"zcbench", "zcrecv", "zcsend"} {
		fmt.Fprintf(&b, "zcbench: statically-linked-binary [usr/bin/%s]\n", p)
	}
	b.WriteString("# These are not run here, but sent to hosts of that architecture.\n")
	for _, other := range arches {
		if other == arch {
			continue
		}
		for _, p := range carried {
			fmt.Fprintf(&b, "zcbench: binary-from-other-architecture [usr/lib/zcbench/agents/linux-%s/%s]\n", other, p)
		}
		fmt.Fprintf(&b, "zcbench: statically-linked-binary [usr/lib/zcbench/agents/linux-%s/zcbench]\n", other)
	}
	return b.String()
}
