// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"slices"
	"testing"
)

// steady always reads the same.
type steady struct{}

func (steady) Info() info {
	return info{Name: "steady", Scope: ScopeWall, Channels: []channel{{Name: "input", Kind: power, Scope: ScopeWall}}}
}

func (steady) Read(_ context.Context, v []int64) error { v[0] = 42e6; return nil }
func (steady) Close() error                            { return nil }

// One line in kinds adds a source: its spec is read, its options are checked, it is opened,
// and it is in the lists that users see.
func TestOneLineAddsASource(t *testing.T) {
	if slices.Contains(names(), "steady") {
		t.Fatal("there is one of this name")
	}
	kinds["steady"] = sourceKind{summary: "always the same", example: "steady", options: []string{"watts"},
		open:    func(Spec) (Source, error) { return steady{}, nil },
		survey:  func() (info, error) { return info{Device: "42 W"}, nil },
		reaches: func(Spec) []Reach { return nil }}
	defer delete(kinds, "steady")

	specs, _, err := ParseSpecs([]string{"steady?watts=42"})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := OpenAll(specs, false)
	if err != nil || len(sources) != 1 {
		t.Fatal(sources, err)
	}
	v := make([]int64, 1)
	if err := sources[0].Read(t.Context(), v); err != nil || v[0] != 42e6 {
		t.Error(v, err)
	}
	if _, _, err := ParseSpecs([]string{"steady?volts=1"}); err == nil {
		t.Error("it takes an option that it does not have")
	}
	i := slices.IndexFunc(Survey(), func(f Found) bool { return f.Name == "steady" })
	if i < 0 || Survey()[i].Here != "42 W" || Survey()[i].Summary != "always the same" {
		t.Errorf("a survey does not find it: %+v", Survey())
	}
}
