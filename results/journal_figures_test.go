// SPDX-License-Identifier: MIT

package results

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLean(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{`{"sut":{"metrics":[{"a":"]\"]"},[1]],"b":1}}`, `{"sut":{"metrics":[],"b":1}}`},
		{`{"sut":{"series":[]},"tg":{"series":[1,2]}}`, `{"sut":{"series":[]},"tg":{"series":[]}}`},
		{`{"metrics":[1]}`, `{"metrics":[1]}`},                             // not of a host
		{`{"sut":{"x":{"metrics":[1]}}}`, `{"sut":{"x":{"metrics":[1]}}}`}, // deeper
		{`{"cell":{"a":"}"},"sut":{"env":{"a":[{}]},"b":1},"env":{"c":1}}`, `{"cell":{},"sut":{"env":{},"b":1},"env":{"c":1}}`},
		{`{"sut":{"name":"metrics","x":"\\"}}`, `{"sut":{"name":"metrics","x":"\\"}}`},
		{`{"sut":{"metrics":[1`, `{"sut":{"metrics":[1`},
		{`{"sut":{"metrics":["`, `{"sut":{"metrics":["`},
		{`"`, `"`},
		{``, ``},
	} {
		if got := string(lean([]byte(x.in)).rest); got != x.want {
			t.Errorf("%s\n got %s\nwant %s", x.in, got, x.want)
		}
	}
}

// Both ways to read a line agree on all but the lists.
func FuzzFigures(f *testing.F) {
	for i := range 3 {
		b, err := json.Marshal(sample(i))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"sut":{"series":[{"metric":"a\"]"}],"name":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := unmarshal(data)
		if err != nil {
			_, _ = figuresOnly()(data) // may not notice, must not crash
			return
		}
		figures, err := figuresOnly()(data)
		if err != nil {
			t.Fatalf("%v", err)
		}
		all.SUT.Series, all.TG.Series = nil, nil
		if all.Cell.Probe == "" {
			all.SUT.Metrics, all.TG.Metrics = nil, nil
		}
		if d := cmp.Diff(all, figures); d != "" {
			t.Fatal(d)
		}
	})
}
