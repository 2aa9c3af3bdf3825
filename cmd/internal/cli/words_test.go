// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

// What cobra and pflag say is said in plain words; what they say otherwise, and a program's own
// errors, stay as they are.
func TestPlainly(t *testing.T) {
	none := func(*cobra.Command, []string) {}
	parent, child := &cobra.Command{Use: "prog", Run: none}, &cobra.Command{Use: "sub", Run: none}
	parent.AddCommand(child)
	for said, want := range map[string]string{
		"accepts 1 arg(s), received 0":                "want 1 argument, got 0",
		"accepts 2 arg(s), received 3":                "want 2 arguments, got 3",
		"requires at least 1 arg(s), only received 0": "want at least 1 argument, got 0",
		`unknown command "x" for "prog sub"`:          `prog sub takes no arguments: "x"`,
		`required flag(s) "need" not set`:             "--need is required",
		`required flag(s) "a", "b", "c" not set`:      "--a, --b and --c are required",
		"if any flags in the group [a b c] are set none of the others can be; [a c] were all set":    "--a and --c cannot be combined",
		"if any flags in the group [a b] are set they must all be set; missing [b]":                  "--a and --b must be given together",
		"at least one of the flags in the group [a b] is required":                                   "want --a or --b",
		`invalid argument "9" for "--gro" flag: "9" is not on or off`:                                `--gro: "9" is not on or off`,
		`invalid argument "x" for "-6, --ipv6" flag: strconv.ParseBool: parsing "x": invalid syntax`: `--ipv6 "x": invalid syntax`,
		"something else": "something else",
	} {
		err := errors.New(said)
		got := plainly(err, child)
		if got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%s: %v, want %s", said, got, want)
		}
	}
	for _, err := range []error{errors.New(`unknown command "x" for "prog"`), Usagef("accepts 1 arg(s), received 0")} {
		if got := plainly(err, parent); got != err {
			t.Errorf("%v: %v", err, got)
		}
	}
}
