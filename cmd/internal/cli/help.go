// SPDX-License-Identifier: MIT

package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that help keeps to.
const helpWidth = 80

// setHelp makes a tree of commands print help as this package lays it out.
func setHelp(root *cobra.Command) {
	addManFlag(root)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := Help(cmd, given(cmd, helpAllFlag))
		if given(cmd, manFlag) {
			text = man(cmd)
		}
		fmt.Fprint(cmd.OutOrStdout(), text)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), Help(cmd, false))
		return err
	})
}

// Help formats the help of a command: what it does, how it is called, its commands and flags. With
// all it lists every flag, in groups.
func Help(cmd *cobra.Command, all bool) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	b.WriteString(reflow(about, helpWidth))
	b.WriteString("\nUsage:\n")
	if doesItself(cmd) {
		fold(&b, "  ", "      ", strings.TrimSpace(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		fold(&b, "  ", "      ", cmd.CommandPath()+" COMMAND [flags]")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + strings.TrimRight(cmd.Example, "\n") + "\n")
	}
	commands(&b, cmd)
	flags(&b, cmd, all)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nFor details of a command: %s COMMAND --help\n", cmd.CommandPath())
	}
	return b.String()
}

// doesItself reports whether a command does something without a subcommand.
func doesItself(cmd *cobra.Command) bool {
	if !cmd.HasAvailableSubCommands() || !cmd.HasParent() {
		return cmd.Runnable()
	}
	flags := 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			flags++
		}
	})
	return cmd.Runnable() && flags > 0
}

// commands lists the subcommands, in their groups.
func commands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	width := 0
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			width = max(width, len(c.Name()))
		}
	}
	list := func(title, id string) {
		said := false
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() || c.GroupID != id {
				continue
			}
			if !said {
				fmt.Fprintf(b, "\n%s:\n", title)
				said = true
			}
			fold(b, fmt.Sprintf("  %-*s  ", width, c.Name()), strings.Repeat(" ", width+4), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list("Commands", "")
}

// flags lists the flags: all of a command that has few; the first of one that has many, or all in
// their groups.
func flags(b *strings.Builder, cmd *cobra.Command, all bool) {
	var have []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			have = append(have, f)
		}
	})
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(have, f) {
			have = append(have, f)
		}
	})
	if len(have) == 0 {
		return
	}
	first := FirstOf(cmd)
	switch {
	case len(first) == 0:
		list(b, "Flags", have)
	case all:
		for _, g := range groups {
			list(b, string(g), slices.DeleteFunc(slices.Clone(have),
				func(f *pflag.Flag) bool { return !slices.Contains(GroupsOf(f.Name), g) }))
		}
	default:
		var shown []*pflag.Flag
		for _, name := range first {
			if f := cmd.Flags().Lookup(name); f != nil {
				shown = append(shown, f)
			}
		}
		list(b, "Flags", shown)
		b.WriteByte('\n')
		fold(b, "", "", fmt.Sprintf("%s --help-all shows all %d flags, in groups.", cmd.CommandPath(), len(have)))
	}
}

// nameWidth is the widest name that a flag's text stands beside; below wider ones.
const nameWidth = 26

func list(b *strings.Builder, title string, all []*pflag.Flag) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	width := 0
	for _, f := range all {
		if n := utf8.RuneCountInString(flagName(f)); n <= nameWidth {
			width = max(width, n)
		}
	}
	for _, f := range all {
		name, indent := flagName(f), strings.Repeat(" ", width+4)
		if utf8.RuneCountInString(name) > width {
			b.WriteString("  " + name + "\n")
			fold(b, indent, indent, flagText(f))
			continue
		}
		fold(b, fmt.Sprintf("  %-*s  ", width, name), indent, flagText(f))
	}
}

// flagName formats "-6, --ipv6" or "--out DIR".
func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if p := placeholder(f); p != "" {
		name += " " + p
	}
	return name
}

// flagText describes what a flag does, and its default.
func flagText(f *pflag.Flag) string {
	text := strings.ReplaceAll(f.Usage, "`", "")
	switch f.DefValue {
	case "", "0", "false", "0s", "[]":
		return text
	}
	return fmt.Sprintf("%s (default %s)", text, strings.Trim(f.DefValue, "[]"))
}

// reflow fills the paragraphs of a text anew; those with an indented line stay as they are.
func reflow(text string, width int) string {
	var b strings.Builder
	for i, para := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.HasPrefix(para, " ") || strings.Contains(para, "\n ") {
			b.WriteString(para + "\n")
			continue
		}
		foldTo(&b, width, "", "", para)
	}
	return b.String()
}

func fold(b *strings.Builder, first, rest, text string) { foldTo(b, helpWidth, first, rest, text) }

// foldTo writes text in lines of at most width columns, where its words allow it.
func foldTo(b *strings.Builder, width int, first, rest, text string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// Indented folds text into lines as wide as help, the first behind one indent and the rest behind
// another.
func Indented(first, rest, text string) string {
	var b strings.Builder
	fold(&b, first, rest, text)
	return b.String()
}
