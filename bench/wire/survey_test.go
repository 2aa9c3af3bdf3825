// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/survey"
)

// A far host's snapshot is one, whole, or nothing of it is seen.
func TestSurvey(t *testing.T) {
	base := survey.New([]survey.Fact{{Name: "boot/id", Value: "x"}, {Name: "nic/MTU", Value: "1500"}})
	change := base.Now(survey.New(nil)).Since(base)
	for name, x := range map[string]struct {
		snapshot string
		ok       bool
	}{
		"whole":    {string(base.Encode()), true},
		"a change": {string(change.Encode()), false},
		"nothing":  {`null`, false},
		"a terminal": {`{"format":"zcbench-environment","version":1,"facts":[{"name":"boot/id","value":"\u001b[2J"}]}`,
			false},
		"another": {`{"format":"x","version":1,"facts":[]}`, false},
	} {
		b, err := json.Marshal(Survey{Snapshot: json.RawMessage(x.snapshot)})
		if err != nil {
			t.Fatal(err)
		}
		var got Survey
		err = Response{Result: b}.Decode(&got)
		if (err == nil) != x.ok || err != nil && !errors.As(err, new(*fault.NonsenseError)) {
			t.Errorf("%s: %v", name, err)
		}
		if x.ok {
			if s, err := got.Parse(); err != nil || s.Hash() != base.Hash() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var none Survey
	if (Response{Result: []byte(`{}`)}).Decode(&none) == nil {
		t.Error("no snapshot was taken for one")
	}
}

// FuzzSurvey: whatever an agent answers, it is nonsense or a snapshot.
func FuzzSurvey(f *testing.F) {
	s, _ := json.Marshal(Survey{Snapshot: survey.New([]survey.Fact{{Name: "boot/id", Value: "x"}}).Encode()})
	f.Add(s)
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Survey
		if (Response{Result: b}).Decode(&got) == nil {
			if _, err := got.Parse(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// CPUs that are in two cores, or on two nodes, are on no host.
func TestTopologyOfAHost(t *testing.T) {
	base := `{"version":1,"tool_version":"v","pid":1,"netns":"4:1","online_cpus":[0,1,2,3],"env":{}`
	for more, ok := range map[string]bool{
		`}`: true,
		`,"cores":["0-1","2,3"],"nodes":[{"node":0,"cpus":"0-1"},{"node":1,"cpus":"2-3"}]}`: true,
		`,"cores":["0-1","1,2"]}`: false,
		`,"cores":["9-1"]}`:       false,
		`,"cores":["x"]}`:         false,
		`,"nodes":[{"node":0,"cpus":"0"},{"node":0,"cpus":"1"}]}`: false,
		`,"nodes":[{"node":0,"cpus":"0"},{"node":1,"cpus":"0"}]}`: false,
		`,"nodes":[{"node":-1,"cpus":"0"}]}`:                      false,
		`,"nodes":[{"node":1024,"cpus":"0"}]}`:                    false,
		`,"nodes":[{"node":0,"cpus":""}]}`:                        false,
	} {
		var h HelloResult
		if err := (Response{Result: []byte(base + more)}).Decode(&h); (err == nil) != ok {
			t.Errorf("%s: %v", more, err)
		}
	}
}
