// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/internal/cmdline"
)

// What a command line shows of itself are flags that there are, and none that takes
// a command, an address with a password, or arguments for others.
func TestFlagsThatAreShown(t *testing.T) {
	secret := []string{"power", "source", "log", "env", "qemu", "set", "cookie"}
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			const value = "VALUE"
			line := cmdline.Public(append(slices.Clone(path), "--"+f.Name, value))
			if shown := strings.Contains(line, value); shown && (slices.Contains(secret, f.Name) ||
				f.NoOptDefVal != "") {
				t.Errorf("%s", line)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(command(), []string{"zcbench"})
	if line := cmdline.Public([]string{"zcbench", "run", "--sut", "ssh:a",
		"--dev=eth0"}); line != "zcbench run --sut ssh:a --dev eth0" {
		t.Error(line)
	}
}
