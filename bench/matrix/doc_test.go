// SPDX-License-Identifier: MIT

package matrix

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

var update = flag.Bool("update", false, "write the table of docs/matrix.md anew")

// The table of options in docs/matrix.md is made of the options:
//
//	go test ./bench/matrix -run TestDocumentedOptions -update
func TestDocumentedOptions(t *testing.T) {
	const path, from, to = "../../docs/matrix.md", "<!-- options -->\n", "<!-- end of options -->\n"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, end := strings.Cut(rest, to)
	if !ok || !end {
		t.Fatalf("%s has no %q and %q", path, from, to)
	}
	want := head + from + optionTable() + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not that of the options: run this test with -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func optionTable() string {
	var b strings.Builder
	b.WriteString("| key | flag | values | modes | what it does |\n|---|---|---|---|---|\n")
	for i := range results.Options {
		o := &results.Options[i]
		modes := strings.Join(o.Modes(), ", ")
		if o.Kind == results.OfModes {
			modes = "" // are the value
		}
		text := strings.NewReplacer("|", `\|`).Replace
		fmt.Fprintf(&b, "| %s | `--%s` | %s | %s | %s |\n", o.Name, o.FlagName(), text(o.Takes), modes, text(o.Help))
	}
	return b.String()
}
