// SPDX-License-Identifier: MIT

package matrix

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

var update = flag.Bool("update", false, "write the tables of docs/options.md and docs/gates.md anew")

// The tables of docs/options.md and docs/gates.md are made of theirs:
//
//	go test ./plan/matrix -run TestDocumented -update
func TestDocumented(t *testing.T) {
	for what, table := range map[string]string{"options": optionTable(), "gates": gateTable()} {
		path := "../../docs/" + what + ".md"
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from, to := "<!-- "+what+" -->\n", "<!-- end of "+what+" -->\n"
		head, rest, ok := strings.Cut(string(b), from)
		_, tail, end := strings.Cut(rest, to)
		if !ok || !end {
			t.Fatalf("%s has no %q and %q", path, from, to)
		}
		want := head + from + table + to + tail
		if want == string(b) {
			continue
		}
		if !*update {
			t.Errorf("the table of %s is not that of the %s: run this test with -update", path, what)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func gateTable() string {
	var b strings.Builder
	b.WriteString("| gate | class | default | judged |\n|---|---|---|---|\n")
	for _, l := range plan.Limits {
		limit := strconv.FormatFloat(l.Default, 'g', -1, 64)
		switch {
		case l.Default == 0:
			limit = "off"
		case l.Share:
			limit = strconv.FormatFloat(100*l.Default, 'g', -1, 64) + "%"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.Key, l.Class, limit, l.Judged)
	}
	return b.String()
}

func optionTable() string {
	var b strings.Builder
	b.WriteString("| key | flag | values | modes | what it does |\n|---|---|---|---|---|\n")
	for i := range plan.Options {
		o := &plan.Options[i]
		modes := strings.Join(o.Modes(), ", ")
		if o.Kind == plan.OfModes {
			modes = "" // are the value
		}
		text := strings.NewReplacer("|", `\|`).Replace
		fmt.Fprintf(&b, "| %s | `--%s` | %s | %s | %s |\n", o.Name, o.FlagName(), text(o.Takes), modes, text(o.Help))
	}
	return b.String()
}
