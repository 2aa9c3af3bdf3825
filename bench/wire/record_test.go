// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
)

// A record that an agent hands over is looked at like all else that it says: what no recording
// has is refused, and its words are plain text.
func TestRecordIsChecked(t *testing.T) {
	good := func() *tape.File {
		f, err := tape.Record(func() error {
			_, err := tape.Ask("x", func() (string, error) { return "y", nil })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if got, err := answered[tape.File](t, good()); err != nil || len(got.Answers) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, spoil := range map[string]func(*tape.File){
		"version":   func(f *tape.File) { f.Version = 9 },
		"answer":    func(f *tape.File) { f.Answers[0].Got = []byte("\"\\u001b[2J\"") },
		"twice":     func(f *tape.File) { f.Answers = append(f.Answers, f.Answers[0]) },
		"of a kind": func(f *tape.File) { f.Answers[0].Got, f.Answers[0].Failed = nil, &tape.Failure{Kind: "x"} },
	} {
		f := good()
		spoil(f)
		if n := (*fault.NonsenseError)(nil); !errors.As(second(answered[tape.File](t, f)), &n) {
			t.Errorf("%s passes", name)
		}
	}
	f := good()
	f.Answers[0].Asked, f.Tool = "x\x1b[2J", "v\x1b]0;title\a"
	if got, err := answered[tape.File](t, f); err != nil || got.Answers[0].Asked != "x\ufffd[2J" ||
		got.Tool != "v\ufffd]0;title\ufffd" {
		t.Errorf("%+v, %v", got, err)
	}
}
