// SPDX-License-Identifier: MIT

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helped is a command with many flags.
func helped() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "A program"}
	c := &cobra.Command{Use: "sub FILE", Short: "Do it", Long: "sub does something that takes more than one line " +
		"of eighty\ncolumns to tell, and then\nmore.\n\n  a table    as it is", Args: cobra.ExactArgs(1),
		RunE: func(*cobra.Command, []string) error { return nil }}
	f := c.Flags()
	f.String("sut", "", "host")
	f.String("rx", "tcp", "mode, about which there is so much to say that it does not fit in a line of eighty columns")
	f.Bool("json", false, "as JSON")
	f.Int("mtu", 0, "bytes")
	c.MarkFlagRequired("sut")
	First(c, "sut", "rx")
	root.AddCommand(c)
	setHelp(root)
	return root
}

// said is what a command line prints.
func said(t *testing.T, root *cobra.Command, args ...string) (status int, text string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	status = run(root, args, f, null)
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return status, string(b)
}

func TestHelpShowsTheFirst(t *testing.T) {
	status, short := said(t, helped(), "sub", "--help")
	if status != done || !strings.Contains(short, "--sut HOST") || strings.Contains(short, "--mtu") ||
		!strings.Contains(short, "prog sub --help-all shows all") {
		t.Errorf("exit status %d:\n%s", status, short)
	}
	if !strings.Contains(short, "eighty columns to tell, and\nthen more.\n") ||
		!strings.Contains(short, "\n  a table    as it is\n") {
		t.Errorf("paragraphs are filled, tables stay:\n%s", short)
	}
	// Neither the argument nor the flag that are missing keep it from helping.
	status, all := said(t, helped(), "sub", "--help-all")
	if status != done || !strings.Contains(all, "\nFlow:\n  --rx MODE") ||
		!strings.Contains(all, "(default tcp)") || !strings.Contains(all, "\nHosts:\n") ||
		strings.Count(all, "--mtu") != 1 {
		t.Errorf("exit status %d:\n%s", status, all)
	}
	for _, text := range []string{short, all} {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

func TestManPage(t *testing.T) {
	root := helped()
	page := man(root.Commands()[0])
	for _, want := range []string{".TH PROG\\-SUB 1", ".SH NAME\nprog\\-sub \\- Do it\n", ".SS Flow\n",
		".TP\n.B \\-\\-mtu N\nbytes\n", ".nf\n  a table    as it is\n.fi\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if got := escaped(".begins\n'so does\na\\b \"c\" `d`"); got != "\\&.begins\n\\&'so does\na\\eb \\(dqc\\(dq d" {
		t.Errorf("escaped %q", got)
	}
	alone := &cobra.Command{Use: "alone ADDR", Args: cobra.ExactArgs(1),
		RunE: func(*cobra.Command, []string) error { return nil }}
	if status, text := said(t, alone, "--man"); status != done || !strings.HasPrefix(text, ".TH ALONE 1") {
		t.Errorf("exit status %d: %s", status, text)
	}
}
