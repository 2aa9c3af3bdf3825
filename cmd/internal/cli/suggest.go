// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/internal/near"
)

// didYouMean adds to the error of a flag that is not there those that are spelled much the same.
func didYouMean(cmd *cobra.Command, err error) string {
	missing := (*pflag.NotExistError)(nil)
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if names = near.Names(missing.GetSpecifiedName(), names); len(names) == 0 {
		return ""
	}
	return "\ndid you mean --" + strings.Join(names, ", --") + "?"
}

// nearCommands proposes subcommands of a command that was given another word. Of the root cobra
// does so itself.
func nearCommands(ran *cobra.Command) string {
	words := ran.Flags().Args()
	if !ran.HasParent() || !ran.HasAvailableSubCommands() || len(words) == 0 {
		return ""
	}
	var names []string
	for _, c := range ran.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if names = near.Names(words[0], names); len(names) == 0 {
		return ""
	}
	return "\ndid you mean " + strings.Join(names, ", ") + "?"
}
