// SPDX-License-Identifier: MIT

package cli

import (
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/plan"
)

// wordsOrFolder completes an option's words, and the folder behind the one that wants it. The
// folders are this machine's: a host elsewhere may have others.
func wordsOrFolder(o *plan.Option) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		if at, ok := strings.CutPrefix(typed, o.Into); ok {
			return folders(o.Into, at), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		for _, w := range o.Choices() {
			if strings.HasPrefix(w, typed) {
				out = append(out, w)
			}
		}
		if !strings.HasPrefix(o.Into, typed) {
			return out, cobra.ShellCompDirectiveNoFileComp
		}
		return append(out, o.Into), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// folders lists those whose path begins so, each after the word.
func folders(word, begin string) (out []cobra.Completion) {
	if begin == "" {
		return []cobra.Completion{word + "/"}
	}
	if !path.IsAbs(begin) {
		return nil
	}
	in, name := path.Split(begin)
	all, err := os.ReadDir(in)
	if err != nil {
		return nil // there is nothing to offer, and the run says what is wrong
	}
	for _, e := range all {
		if e.IsDir() && strings.HasPrefix(e.Name(), name) && (name != "" || !strings.HasPrefix(e.Name(), ".")) {
			out = append(out, word+in+e.Name()+"/")
		}
	}
	return out
}
