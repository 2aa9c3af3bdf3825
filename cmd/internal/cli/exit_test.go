// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// program is a command tree with every way in which a command line can be refused
// before a command begins.
func program() *cobra.Command {
	root := &cobra.Command{Use: "prog"}
	sub := &cobra.Command{Use: "sub FILE", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		switch args[0] {
		case "fails":
			return errors.New("accepts nothing") // begins as words of cobra's do
		case "wrong":
			return Usagef("%s is wrong", args[0])
		}
		return nil
	}}
	sub.Flags().String("need", "", "")
	sub.MarkFlagRequired("need")
	sub.Flags().Bool("a", false, "")
	sub.Flags().Bool("b", false, "")
	sub.MarkFlagsMutuallyExclusive("a", "b")
	odd := &cobra.Command{Use: "odd", RunE: func(*cobra.Command, []string) error { return nil }}
	odd.Args = func(*cobra.Command, []string) error { return fmt.Errorf("in words of no known beginning") }
	root.AddCommand(sub, odd)
	return root
}

// mistake is the caller's.
type mistake struct{ error }

func (mistake) WrongInput() bool { return true }

// The caller's mistake is 2, unless the command says another status: to some callers 2 means
// something else.
func TestStatusOfMistakes(t *testing.T) {
	wrong := mistake{errors.New("wrong")}
	for _, x := range []struct {
		err  error
		want int
	}{
		{wrong, Usage}, {fmt.Errorf("more of it: %w", wrong), Usage}, {errors.Join(errors.New("other"), wrong), Usage},
		{errors.New("other"), Failed},
		{&StatusError{125, wrong}, 125}, {fmt.Errorf("more of it: %w", &StatusError{Failed, wrong}), Failed},
		{errors.Join(wrong, &StatusError{125, nil}), 125},
	} {
		if got := report(x.err, "prog", io.Discard); got != x.want {
			t.Errorf("%v: exit status %d, want %d", x.err, got, x.want)
		}
	}
}

// What is refused before a command begins is wrong usage, whatever it says; what a
// command says is not, unless it is marked.
func TestStatusOfRefusals(t *testing.T) {
	for line, want := range map[string]struct {
		status int
		text   string
	}{
		"sub --need x f":     {done, ""},
		"sub --need x fails": {Failed, "prog: accepts nothing\n"},
		"sub --need x wrong": {Usage, "prog: wrong is wrong\n"},
		"sbu":                {Usage, "unknown command"},
		"sub --need x": {Usage,
			"want 1 argument, got 0\nusage: prog sub FILE [flags]\nsee: prog sub --help\n"},
		"sub f":                  {Usage, "--need is required"},
		"sub --need x --a --b f": {Usage, "--a and --b cannot be combined"},
		"sub --colour f":         {Usage, "unknown flag: --colour\nsee: prog sub --help\n"},
		"odd":                    {Usage, "in words of no known beginning\nusage: prog odd [flags]\n"},
		"completion bash x":      {Usage, "usage: prog completion bash"},
		"completion bash":        {done, ""},
		"sub --help":             {done, ""},
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		status := run(program(), strings.Fields(line), null, file)
		said, err := os.ReadFile(file.Name())
		if err != nil || status != want.status || !strings.Contains(string(said), want.text) || want.text == "" &&
			len(said) > 0 {
			t.Errorf("prog %s: exit status %d, want %d, and %q: %q, %v", line, status, want.status, want.text, said,
				err)
		}
		file.Close()
		null.Close()
	}
}
