// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/internal/version"
)

// WriteManPages writes the manual pages of a tree of commands into a folder: zcbench.1,
// zcbench-run.1 and so on.
func WriteManPages(cmd *cobra.Command, dir string) error {
	err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(man(cmd)), 0o644)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !ofCobra(c) {
			err = errors.Join(err, WriteManPages(c, dir))
		}
	}
	return err
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// ofCobra reports whether cobra added the command: the shell asks for these, and they explain
// themselves.
func ofCobra(c *cobra.Command) bool { return c.Name() == "help" || c.Name() == "completion" }

// man writes the manual page of a command, in the macros of man(7). It has no date: the same
// program always writes the same page.
func man(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\" \"zcbench\"\n", strings.ToUpper(escaped(pageName(cmd))),
		escaped("zcbench "+version.Tool()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(pageName(cmd)), escaped(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if doesItself(cmd) {
		fmt.Fprintf(&b, ".B %s\n", escaped(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".PP\n.B %s\n.I COMMAND\n", escaped(cmd.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, cmd.Long)
	if cmd.Long == "" {
		manText(&b, cmd.Short+".")
	}
	manCommands(&b, cmd)
	manFlags(&b, cmd)
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n.nf\n" + escaped(strings.Trim(cmd.Example, "\n")) + "\n.fi\n")
	}
	manSeeAlso(&b, cmd)
	return b.String()
}

func manCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escaped(c.Name()), escaped(c.Short))
		}
	}
}

func manFlags(b *strings.Builder, cmd *cobra.Command) {
	var have []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			have = append(have, f)
		}
	})
	b.WriteString(".SH OPTIONS\n")
	write := func(all []*pflag.Flag) {
		for _, f := range all {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escaped(flagName(f)), escaped(flagText(f)))
		}
	}
	if len(FirstOf(cmd)) == 0 {
		write(have)
		return
	}
	for _, g := range groups {
		of := slices.DeleteFunc(slices.Clone(have), func(f *pflag.Flag) bool {
			return !slices.Contains(GroupsOf(f.Name),
				g)
		})
		if len(of) > 0 {
			fmt.Fprintf(b, ".SS %s\n", escaped(string(g)))
			write(of)
		}
	}
}

func manSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, pageName(cmd.Parent()))
	} else {
		names = append(names, "zcbench", "zcrecv", "zcsend")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !ofCobra(c) {
			names = append(names, pageName(c))
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == pageName(cmd) })
	for i, n := range names {
		names[i] = `\fB` + escaped(n) + `\fR(1)`
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(names, ", "))
}

// manText writes paragraphs, those with an indented line as they are.
func manText(b *strings.Builder, text string) {
	for i, para := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(para, " ") || strings.Contains(para, "\n ") {
			para = ".nf\n" + escaped(para) + "\n.fi"
		} else {
			para = escaped(para)
		}
		b.WriteString(para + "\n")
	}
}

// escaped protects text from roff, which would take dashes for hyphens, and a line that begins with
// a dot for a request.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`).Replace(strings.ReplaceAll(text, "`", ""))
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

const manFlag = "man"

// addManFlag gives a program without commands a hidden flag that prints its manual page.
func addManFlag(root *cobra.Command) {
	if root.HasSubCommands() || root.Flags().Lookup(manFlag) != nil {
		return
	}
	f := root.Flags().VarPF(&helpAll{root}, manFlag, "", "print the manual page")
	f.NoOptDefVal, f.Hidden = "true", true
}
