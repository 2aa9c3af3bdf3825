// SPDX-License-Identifier: MIT

package host

import (
	_ "embed"
	"strings"
)

var (
	//go:embed sh/safe.sh
	safeSh string
	//go:embed sh/knock.sh
	knockSh string
	//go:embed sh/upload.sh
	uploadSh string
	//go:embed sh/root.sh
	rootSh string
)

// rootScript is what root runs under sudo.
var rootScript = oneLine(rootSh)

// thereWord says that the program need not be copied.
const thereWord = "zcbench-is-there"

// knockScript builds the script that describes the far host, and becomes the agent.
func (p program) knockScript(mark string, sudo bool) string {
	return p.script(knockSh, "mark", mark, "machine", p.machine, "sudo", yesNo(sudo))
}

// uploadScript takes the program.
func (p program) uploadScript(tidy bool) string {
	return p.script(uploadSh, "there", thereWord, "tidy", yesNo(tidy))
}

// script builds one of our scripts with its variables. What it shares with others comes before its
// first step, which is enter.
func (p program) script(text string, vars ...string) string {
	vars = append(vars, "dir", p.dir, "home", p.home, "name", p.name, "sum", p.sum)
	var b strings.Builder
	for i := 0; i < len(vars); i += 2 {
		b.WriteString(vars[i] + `="` + vars[i+1] + `"; `)
	}
	b.WriteString(oneLine(safeSh) + " " + oneLine(text))
	return b.String()
}

// oneLine joins a script's lines, which are written for it.
func oneLine(script string) string {
	var words []string
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
