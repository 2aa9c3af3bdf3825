// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// AddOptions defines the flags of those options that are wanted; they choose of c, which gets
// the options' defaults.
func AddOptions(cmd *cobra.Command, c *plan.Cell, wanted func(*plan.Option) bool) {
	for i := range plan.Options {
		o := &plan.Options[i]
		if !wanted(o) {
			continue
		}
		v := &optionFlag{option: o, cell: c, flags: cmd.Flags()}
		if o.Default != "" {
			_ = o.Set(c, o.Default)
			v.text = o.Default
		}
		help := o.Help
		if names := o.Modes(); names != nil {
			help += " [" + strings.Join(names, ", ") + "]"
		}
		f := cmd.Flags().VarPF(v, o.FlagName(), "", help)
		if o.Type == "bool" {
			f.NoOptDefVal = "true"
		}
		if o.Into != "" {
			cmd.RegisterFlagCompletionFunc(o.FlagName(), wordsOrFolder(o))
		} else if words := o.Choices(); words != nil {
			cmd.RegisterFlagCompletionFunc(o.FlagName(),
				cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.Flags().SetNormalizeFunc(alsoKeys)
}

// alsoKeys lets the key's word in files stand for the option's flag: --cpu-layout, or --cpu_layout,
// is --layout.
func alsoKeys(fs *pflag.FlagSet, name string) pflag.NormalizedName {
	if o := plan.ByWord(name); o != nil {
		name = o.FlagName()
	}
	return pflag.NormalizedName(name)
}

// pathOptions selects the options of the data path of one end.
func pathOptions(role stream.Role) func(*plan.Option) bool {
	return func(o *plan.Option) bool { return o.Kind == plan.OfPath && (o.Role == "" || o.Role == role) }
}

// optionFlag is the flag of an option.
type optionFlag struct {
	option *plan.Option
	cell   *plan.Cell
	flags  *pflag.FlagSet
	text   string
	given  bool
}

func (f *optionFlag) String() string { return f.text }
func (f *optionFlag) Type() string   { return f.option.Type }

func (f *optionFlag) Set(s string) error {
	if s == "" && strings.HasPrefix(f.option.Type, "string") {
		f.option.Clear(f.cell)
		f.text = ""
		return nil
	}
	if f.option.Type == "bool" {
		if b, err := strconv.ParseBool(s); err == nil {
			s = strconv.FormatBool(b)
		}
	}
	if f.given && f.option.Many != "" {
		s = f.text + f.option.Many + s
	}
	if err := f.option.Set(f.cell, s); err != nil {
		return err
	}
	f.text, f.given = s, true
	if also := plan.LookupOption(f.option.Also); also != nil && !f.flags.Changed(also.FlagName()) {
		return also.Set(f.cell, s)
	}
	return nil
}

// OptionError makes the usage error of an option that a run cannot have.
func OptionError(err error) error {
	if e := (*plan.OptionError)(nil); errors.As(err, &e) {
		return Usagef("--%s %s", e.Option.FlagName(), e.Reason(true))
	}
	return UsageError(err)
}
