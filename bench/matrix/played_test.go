// SPDX-License-Identifier: MIT

package matrix

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// recorded is the plan of a journal of s, as it is read from there.
func recorded(t *testing.T, s *Spec) *results.Plan {
	t.Helper()
	played, err := (&Played{Spec: s, Fit: s.Duration == 0}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(&results.Plan{Name: s.Name, Hash: s.Hash(), File: s.File, Played: played})
	if err != nil {
		t.Fatal(err)
	}
	plan := new(results.Plan)
	if err := json.Unmarshal(b, plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// Every shipped experiment is played again from its journal alone: the same runs in the same
// order, under the same hash.
func TestReplayOfShipped(t *testing.T) {
	files, err := filepath.Glob("../../experiments/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		s, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.SUT.Host, s.TG.Host, s.SUT.Dev = "ssh:root@a", "ssh:root@b", "eth1" // flags
		plan := recorded(t, s)
		p, err := Replay("out/journal.jsonl", plan)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p.Spec.Hash() != s.Hash() || !reflect.DeepEqual(p.Spec.Runs(), s.Runs()) || p.Spec.SUT.Host != "ssh:root@a" || p.Spec.Purpose != s.Purpose || p.Spec.File != s.File {
			t.Errorf("%s: it is another plan", file)
		}
	}
}

// A journal that has no plan that was played has the file, or cannot be played.
func TestReplayOfOldJournals(t *testing.T) {
	s, err := Parse("x.yaml", []byte(replayed))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Replay("j", &results.Plan{Hash: s.Hash(), File: replayed})
	if err != nil || p.Spec.Hash() != s.Hash() {
		t.Error(err)
	}
	if _, err := Replay("j", &results.Plan{Hash: "another", File: replayed}); err == nil || !strings.Contains(err.Error(), "is not the one that was played") {
		t.Error(err)
	}
	for _, plan := range []*results.Plan{nil, {}} {
		if _, err := Replay("j", plan); err == nil || !strings.Contains(err.Error(), "does not say what was run") {
			t.Error(err)
		}
	}
}

// A folder of somebody else asks for nothing that no file could ask for.
func TestReplayRefuses(t *testing.T) {
	s, err := Parse("x.yaml", []byte(replayed+"sut: {host: local, settings: {sysctl: {net.core.rmem_max: 1000000}}}\ntg: {host: local}\nmtu: 1500\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ old, new, want string }{
		"a program of root's": {"net.core.rmem_max", "kernel.core_pattern", "is not set by zcbench"},
		"another interface":   {`"Dev":""`, `"Dev":"../x"`, "not the name of an interface"},
		"another address":     {`"Addr":""`, `"Addr":"a.example"`, "not an IP address"},
		"a folder":            {`"Name":"x"`, `"Name":"../x"`, "not a name"},
		"another MTU":         {`"mtu":1500`, `"mtu":1`, "mtu"},
		"another repetition":  {`"Repetitions":4`, `"Repetitions":5`, "is not the one that was played"},
		"a mode":              {`"rx_mode":"uring"`, `"rx_mode":"shell"`, "rx"},
		"no cell":             {`"Cells":[`, `"Cells":[],"Folded":0,"cells_":[`, "unknown field"},
		"a word more":         {`"Cells":`, `"Command":"sh","Cells":`, "unknown field"},
		"nothing":             {`"spec":{`, `"purpose":"","x":{`, "unknown field"},
	} {
		plan := recorded(t, s)
		if !bytes.Contains(plan.Played, []byte(x.old)) {
			t.Fatalf("%s: %s is not in %s", name, x.old, plan.Played)
		}
		plan.Played = bytes.Replace(plan.Played, []byte(x.old), []byte(x.new), 1)
		if _, err := Replay("j", plan); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// Power is measured as it was; sources that lead elsewhere need the user's word; those whose
// secrets are on no record are asked for.
func TestReplayPower(t *testing.T) {
	s, err := Parse("x.yaml", []byte(replayed))
	if err != nil {
		t.Fatal(err)
	}
	plan := recorded(t, s)
	plan.Power = &results.PowerPlan{Sources: []string{"rapl", "auto", "sut:command=/opt/meter"}, IntervalS: .2, IdleS: 3, GuardS: 1}
	p, err := Replay("j", plan)
	if err != nil || len(p.Spec.Power.Sources) != 3 || p.Spec.Power.Idle.Seconds() != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := p.Spec.Untrusted(); err == nil || !strings.Contains(err.Error(), "runs a program") {
		t.Errorf("a program of somebody else's would run: %v", err)
	}
	plan.Power.Sources = []string{"no-such-source"}
	if _, err := Replay("j", plan); err == nil || !strings.Contains(err.Error(), "name the sources with --power") {
		t.Error(err)
	}
	plan.Power = &results.PowerPlan{Sources: []string{"rapl"}, IntervalS: 1e-9}
	if _, err := Replay("j", plan); err == nil {
		t.Error("read a billion times a second")
	}
}

// FuzzReplay: whatever a journal says was played, it is refused, or is a plan of its hash.
func FuzzReplay(f *testing.F) {
	text, err := os.ReadFile("../../experiments/quick.yaml")
	if err != nil {
		f.Fatal(err)
	}
	s, err := Parse("quick.yaml", text)
	if err != nil {
		f.Fatal(err)
	}
	b, err := (&Played{Spec: s}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b))
	f.Add([]byte(`{"spec":{"Cells":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		plan := &results.Plan{Played: b}
		if p, err := decodePlayed("j", plan); err == nil && p.Spec != nil {
			plan.Hash = p.Spec.Hash()
		}
		p, err := Replay("j", plan)
		if err == nil && len(p.Spec.Cells) == 0 {
			t.Fatal("a plan of nothing")
		}
	})
}
