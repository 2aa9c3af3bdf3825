// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"
)

// What is written of a file's cells, without some of its keys, is read as the same cells.
func TestWriteCells(t *testing.T) {
	const file = `# an experiment
name: x     # its name
sut:
  host: "exec:podman exec -i a"
  dev: eth1
tg: {host: "netns:b"}
factors:
  rx: [zcrx, tcp]
  tx: [tcp]
  message: [64K, 1M]
  set: ["sut:coalesce rx-usecs=8; feature rx-gro=on"]
  gather: [0, 50us]
exclude: [{rx: tcp, message: 1M}]
touch: read # what is done
repetitions: 3
`
	s, err := Parse("x.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Without("factors", "exclude", "repetitions")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"# an experiment", "# its name", "podman exec -i a", "touch: read # what is done"} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is lost: %s", word, text)
		}
	}
	for _, word := range []string{"factors", "[64K", "exclude", "repetitions"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is left: %s", word, text)
		}
	}
	text += "include:\n"
	for i := range s.Cells {
		text += "  - " + s.Item(&s.Cells[i]) + "\n"
	}
	again, err := Parse("again.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(again.Cells) != len(s.Cells) || len(s.Cells) < 6 || s.Cells[0].Set == "" {
		t.Fatalf("%d cells, were %d", len(again.Cells), len(s.Cells))
	}
	for i := range s.Cells {
		if again.Cells[i].Key() != s.Cells[i].Key() {
			t.Errorf("%s became %s", s.Cells[i].ID, again.Cells[i].ID)
		}
	}
}
