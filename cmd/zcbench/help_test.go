// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/await"
)

// all are the commands that users see.
func all() (out []*cobra.Command) {
	root := command()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		out = append(out, c)
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
	return out
}

// Each command is in one group.
func TestCommandsHaveGroups(t *testing.T) {
	root := command()
	groups := map[string]bool{}
	for _, g := range root.Groups() {
		groups[g.ID] = true
	}
	for _, c := range root.Commands() {
		if !c.Hidden && !groups[c.GroupID] {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	if help := cli.Help(root, false); strings.Contains(help, "\nCommands:\n") ||
		!strings.Contains(help, "\nMeasure:\n") {
		t.Errorf("help:\n%s", help)
	}
}

// A command with many flags shows ten, and with --help-all each once, in its group.
func TestFlagsHaveGroups(t *testing.T) {
	const many = 21
	grouped := 0
	for _, c := range all() {
		first := cli.FirstOf(c)
		n := 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			n++
			if g := cli.GroupsOf(f.Name); len(first) > 0 && len(g) != 1 {
				t.Errorf("%s --%s is in the groups %q", c.CommandPath(), f.Name, g)
			}
		})
		if len(first) == 0 {
			if n > many {
				t.Errorf("%s has %d flags, and none of them are first", c.CommandPath(), n)
			}
			continue
		}
		grouped++
		if len(first) != 10 {
			t.Errorf("%s: %d flags are first", c.CommandPath(), len(first))
		}
		for _, name := range first {
			if c.Flags().Lookup(name) == nil {
				t.Errorf("%s has no --%s", c.CommandPath(), name)
			}
		}
		text := cli.Help(c, true)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if got := strings.Count(text, "--"+f.Name+" ") + strings.Count(text, "--"+f.Name+"\n"); !f.Hidden &&
				got < 1 {
				t.Errorf("%s --help-all has --%s %d times", c.CommandPath(), f.Name, got)
			}
		})
	}
	if grouped < 4 {
		t.Errorf("%d commands have groups", grouped)
	}
}

// Help keeps to 80 columns, so that a terminal of that width does not break it.
func TestHelpWidth(t *testing.T) {
	for _, c := range all() {
		for _, text := range []string{cli.Help(c, false), cli.Help(c, true)} {
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
					t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
				}
			}
		}
	}
}

// A slip of the finger gets a proposal.
func TestDidYouMean(t *testing.T) {
	for line, want := range map[string]string{
		"dmeo": "demo", "run --duraton 1s": "did you mean --duration?", "lab exce -- true": "did you mean exec?",
		"explain zcxr": "did you mean zcrx", "explain nothing-of-the-kind": "explain lists",
	} {
		p := built.Start(t, "zcbench", strings.Fields(line)...)
		if status := p.Wait(await.Hang); status != 2 || !strings.Contains(p.Err.String(), want) || p.Out.Len() > 0 {
			t.Errorf("%s: exit status %d: %s%s", line, status, &p.Err, &p.Out)
		}
	}
}

func TestExplain(t *testing.T) {
	for line, want := range map[string][]string{
		"tcp":          {"rx:tcp\n", "tx:tcp\n", "just one of them: zcbench explain rx:tcp | tx:tcp"},
		"tx:tcp":       {"tx:tcp\n  send mode"},
		"--rx-buf-len": {"flag:rx-buf-len\n", "zcbench run", "docs/options.md"},
		"EOPNOTSUPP":   {"errno:EOPNOTSUPP\n  errno 95", "docs/zcrx.md"},
		"invalid":      {"verdict:invalid\n"},
		"":             {"rx ", "errno "},
		"--help":       {"Usage:\n  zcbench explain"},
	} {
		p := built.Start(t, "zcbench", append([]string{"explain"}, strings.Fields(line)...)...)
		status := p.Wait(await.Hang)
		for _, w := range want {
			if status != 0 || !strings.Contains(p.Out.String(), w) {
				t.Errorf("explain %s: exit status %d, no %q in %s%s", line, status, w, &p.Out, &p.Err)
			}
		}
		for l := range strings.Lines(p.Out.String()) {
			if n := utf8.RuneCountInString(l); n > 101 && !strings.Contains(l, "://") {
				t.Errorf("explain %s: %d columns: %s", line, n, l)
			}
		}
	}
	p := built.Start(t, "zcbench", "__complete", "explain", "rx:tc")
	if status := p.Wait(await.Hang); status != 0 || !strings.Contains(p.Out.String(), "rx:tcp\n") {
		t.Errorf("completion: exit status %d: %s%s", status, &p.Out, &p.Err)
	}
}

func TestMan(t *testing.T) {
	dir := t.TempDir()
	p := built.Start(t, "zcbench", "man", dir)
	if status := p.Wait(await.Hang); status != 0 {
		t.Fatalf("exit status %d: %s", status, &p.Err)
	}
	for _, c := range all() {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if page, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(page),
			".TH ") || !strings.Contains(string(page), ".SH SEE ALSO\n") {
			t.Errorf("%s: %v: %.200s", name, err, page)
		}
	}
	if p := built.Start(t, "zcbench", "man", filepath.Join(dir, "none")); p.Wait(await.Hang) != 2 {
		t.Errorf("a folder that is not there: %s", &p.Err)
	}
}
