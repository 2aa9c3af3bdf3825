// SPDX-License-Identifier: MIT

package specflag

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// otherWords are the flags that do not have their key's word, and why: they are a contract that
// scripts rely on. Both words work in both places.
var otherWords = map[string]string{
	"cpu_layout":    "layout",       // the column's name; typed often
	"tg_cpu_layout": "tg-layout",    // as that
	"message":       "message-size", // a flag without its unit would be taken for a text
	"read":          "read-size",    // as that
	"area_bytes":    "area-size",    // as that
	"hugepages":     "huge-pages",   // the kernel's word is the key
}

// What a key is called in files is what its flag is called, and where there are two words each
// works as the other does.
func TestFlagsAndKeysAreTheSameWords(t *testing.T) {
	keys := func() (names []string) {
		for i := range matrix.Keys {
			if k := &matrix.Keys[i]; k.Flag != "" {
				names = append(names, k.Name)
				if want := strings.ReplaceAll(k.Name, "_", "-"); k.Flag != want {
					t.Errorf("the flag of %s is --%s, want --%s", k.Name, k.Flag, want)
				}
			}
		}
		return names
	}()
	var f Flags
	cmd := &cobra.Command{}
	f.Add(cmd, matrix.New(), false, keys...)
	fs := cmd.Flags()
	fs.VisitAll(func(g *pflag.Flag) {
		if g.Hidden {
			t.Errorf("--%s is hidden: another word for a flag is not a flag", g.Name)
		}
	})
	seen := 0
	for i := range plan.Options {
		o := &plan.Options[i]
		dashed := strings.ReplaceAll(o.Name, "_", "-")
		if want, ok := otherWords[o.Name]; ok {
			seen++
			dashed = want
		}
		if o.FlagName() != dashed {
			t.Errorf("the flag of %s is --%s: call it --%s, or say why not in otherWords", o.Name, o.FlagName(), dashed)
		}
		if o.OfPlan {
			continue
		}
		for _, word := range []string{o.Name, strings.ReplaceAll(o.Name, "_", "-"), o.FlagName()} {
			if g := fs.Lookup(word); g == nil || g.Name != o.FlagName() {
				t.Errorf("--%s is not the flag of %s", word, o.Name)
			}
			if is := plan.ByWord(word); is != o {
				t.Errorf("the key %s is not %s", word, o.Name)
			}
		}
	}
	if seen != len(otherWords) {
		t.Errorf("otherWords has %d that are no options", len(otherWords)-seen)
	}
}

// Both words are read in files, as factors and for all cells, but not both at once.
func TestFlagsWordsInFiles(t *testing.T) {
	const file = "name: x\nsut: {host: local}\ntg: {host: local}\n"
	for _, x := range []struct{ more, wrong string }{
		{"factors: {rx: [tcp], tx: [tcp], message_size: [64K]}\n", ""},
		{"factors: {rx: [tcp], tx: [tcp], message: [64K]}\n", ""},
		{"factors: {rx: [tcp], tx: [tcp], message: [64K], message_size: [1M]}\n", "message is there twice"},
		{"layout: 2cpu\nfactors: {rx: [tcp], tx: [tcp]}\n", ""},
		{"layout: 2cpu\ncpu_layout: 2cpu\nfactors: {rx: [tcp], tx: [tcp]}\n", "cpu_layout says the same as layout"},
	} {
		s, err := matrix.Parse("x.yaml", []byte(file+x.more))
		switch {
		case x.wrong == "" && err != nil:
			t.Errorf("%s: %v", x.more, err)
		case x.wrong != "" && (err == nil || !strings.Contains(err.Error(), x.wrong)):
			t.Errorf("%s: %v, want %q", x.more, err, x.wrong)
		case err == nil && s.Cells[0].MessageBytes == 0 && s.Cells[0].CPULayout == "":
			t.Errorf("%s: nothing is set", x.more)
		}
	}
}
