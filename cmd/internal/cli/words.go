// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/internal/lazy"
)

// reworded is an error in other words.
type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }

// The messages of cobra and pflag, and what users get instead.
var cobraWords = []struct {
	is  func() *regexp.Regexp
	say func(m []string, c *cobra.Command) string
}{
	{lazy.Regexp(`^accepts (\d+) arg\(s\), received (\d+)$`), func(m []string, _ *cobra.Command) string {
		return "want " + arguments(m[1]) + ", got " + m[2]
	}},
	{lazy.Regexp(`^requires at least (\d+) arg\(s\), only received (\d+)$`), func(m []string, _ *cobra.Command) string {
		return "want at least " + arguments(m[1]) + ", got " + m[2]
	}},
	{lazy.Regexp(`^accepts at most (\d+) arg\(s\), received (\d+)$`), func(m []string, _ *cobra.Command) string {
		return "want at most " + arguments(m[1]) + ", got " + m[2]
	}},
	{lazy.Regexp(`^unknown command (".*") for ("[^"]*")$`), func(m []string, c *cobra.Command) string {
		if c.HasAvailableSubCommands() {
			return m[0]
		}
		return c.CommandPath() + " takes no arguments: " + m[1]
	}},
	{lazy.Regexp(`^required flag\(s\) (.+) not set$`), func(m []string, _ *cobra.Command) string {
		names := strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", ")
		if len(names) == 1 {
			return "--" + names[0] + " is required"
		}
		return flagList(names, "and") + " are required"
	}},
	{lazy.Regexp(`^if any flags in the group \[[^]]*\] are set none of the others can be; \[([^]]*)\] were all set$`),
		func(m []string, _ *cobra.Command) string {
			return flagList(strings.Fields(m[1]), "and") + " cannot be combined"
		}},
	{lazy.Regexp(`^if any flags in the group \[([^]]*)\] are set they must all be set; missing \[[^]]*\]$`),
		func(m []string, _ *cobra.Command) string {
			return flagList(strings.Fields(m[1]), "and") + " must be given together"
		}},
	{lazy.Regexp(`^at least one of the flags in the group \[([^]]*)\] is required$`),
		func(m []string, _ *cobra.Command) string {
			return "want " + flagList(strings.Fields(m[1]), "or")
		}},
	{lazy.Regexp(`(?s)^invalid argument (".*") for "(?:-\w, )?(--[\w-]+)" flag: (?:strconv\.\w+: parsing ` +
		`"[^"]*": (invalid syntax|value out of range)|(.*))$`), func(m []string, _ *cobra.Command) string {
		if m[3] != "" {
			return m[2] + " " + m[1] + ": " + m[3]
		}
		return m[2] + ": " + m[4]
	}},
}

// plainly puts an error of cobra or pflag about c's command line into plain words.
func plainly(err error, c *cobra.Command) error {
	if s := (*StatusError)(nil); errors.As(err, &s) {
		return err
	}
	for _, w := range cobraWords {
		if m := w.is().FindStringSubmatch(err.Error()); m != nil {
			if text := w.say(m, c); text != err.Error() {
				return &reworded{text, err}
			}
			return err
		}
	}
	return err
}

func arguments(n string) string {
	if n == "1" {
		return "1 argument"
	}
	return n + " arguments"
}

func flagList(names []string, last string) string {
	for i, name := range names {
		names[i] = "--" + name
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
	}
	return strings.Join(names, "")
}
