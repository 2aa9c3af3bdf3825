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

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
)

// recorded is the plan of a journal of s, as it is read from there.
func recorded(t *testing.T, s *Spec) *plan.Origin {
	t.Helper()
	played, err := (&Played{Spec: s, Shape: Shape{Fit: s.Duration == 0}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(&plan.Origin{Name: s.Name, Hash: s.Hash(), File: s.File, Played: played})
	if err != nil {
		t.Fatal(err)
	}
	plan := new(plan.Origin)
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
		if p.Spec.Hash() != s.Hash() || !reflect.DeepEqual(p.Spec.Runs(), s.Runs()) ||
			p.Spec.SUT.Host != "ssh:root@a" || p.Spec.Purpose != s.Purpose || p.Spec.File != s.File {
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
	p, err := Replay("j", &plan.Origin{Hash: s.Hash(), File: replayed})
	if err != nil || p.Spec.Hash() != s.Hash() {
		t.Error(err)
	}
	if _, err := Replay("j", &plan.Origin{Hash: "another", File: replayed}); err == nil ||
		!strings.Contains(err.Error(), "is not the one that was run") {
		t.Error(err)
	}
	for _, plan := range []*plan.Origin{nil, {}} {
		if _, err := Replay("j", plan); err == nil || !strings.Contains(err.Error(), "does not say what was run") {
			t.Error(err)
		}
	}
}

// A folder of somebody else asks for nothing that no file could ask for.
func TestReplayRefuses(t *testing.T) {
	s, err := Parse("x.yaml",
		[]byte(
			replayed+"sut: {host: local, settings: {sysctl: {net.core.rmem_max: 1000000}}}\ntg: {host: "+
				"local}\nmtu: 1500\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ old, new, want string }{
		"a program of root's": {"net.core.rmem_max", "kernel.core_pattern", "zcbench does not set sysctl"},
		"another interface":   {`"Dev":""`, `"Dev":"../x"`, "not the name of an interface"},
		"another address":     {`"Addr":""`, `"Addr":"a.example"`, "not an IP address"},
		"a folder":            {`"Name":"x"`, `"Name":"../x"`, "not a name"},
		"another MTU":         {`"mtu":1500`, `"mtu":1`, "mtu"},
		"another repetition":  {`"Repetitions":4`, `"Repetitions":5`, "is not the one that was run"},
		"a mode":              {`"rx_mode":"uring"`, `"rx_mode":"shell"`, "rx"},
		"no cell":             {`"Cells":[`, `"Cells":[],"Folded":0,"cells_":[`, "unknown field"},
		"a word more":         {`"Cells":`, `"Command":"sh","Cells":`, "unknown field"},
		"nothing":             {`"spec":{`, `"purpose":"","x":{`, "unknown field"},

		"made again for ever": {`"Gates":{`, `"Gates":{"replace":1000000000000000000,`,
			"gate replace: 1000000000000000000 is outside 0..2"},
		"less load than none": {`"foreign_cores":0.05`, `"foreign_cores":-5`, "gate foreign_cores"},
		"all copied":          {`"copied":0.01`, `"copied":1000000000`, "gate copied"},
		"is not a limit":      {`"Gates":{`, `"Gates":{"limit":"x",`, "gate limit"},
		"off as a limit":      {`"Gates":{`, `"Gates":{"limit":"off",`, "gate limit"},
		"unknown gate":        {`"Gates":{`, `"Gates":{"asked":["x"],`, "is not a requested gate, or out of place"},
		"a gate twice": {`"Gates":{`, `"Gates":{"asked":["drift","drift"],`,
			"is not a requested gate, or out of place"},
		"a forged line": {`"id":"tcp/tcp"`, `"id":"tcp/tcp\n\nset on the hosts: nothing"`,
			"is not the name of tcp/tcp"},
		"another cell's name": {`"id":"uring/tcp"`, `"id":"tcp/tcp"`, "is not the name of uring/tcp"},
		"a factor it has not": {`"id":"uring/tcp"`, `"id":"uring/tcp mtu=9000"`, "is not the name of uring/tcp"},
		"a cell twice": {`"id":"uring/tcp","rx_mode":"uring"`, `"id":"tcp/tcp","rx_mode":"tcp"`,
			"occurs twice"},
		"a layout": {`"Dev":""`, `"Dev":"","Layouts":{"x\ny":{"App":1,"IRQ":1}}`, "unknown layout"},
		"a layout of two": {`"Dev":""`, `"Dev":"","Layouts":{"1cpu":{"App":1,"IRQ":2}}`,
			"layout 1cpu has app on CPU 1"},
		"a setting of both":   {`"Host":{"id":""`, `"Host":{"id":"","mtu":9000`, "mtu is not a setting of one host"},
		"a CPU":               {`"CPU":null`, `"CPU":99999`, "CPU 99999"},
		"a host of two lines": {`"Host":"local"`, `"Host":"netns:a\nb"`, "not one line of plain text"},
		"an address of two":   {`"Addr":""`, `"Addr":"fe80::1%a\nb"`, "not one line of plain text"},
		"a missing baseline": {`"Cells":[`, `"Base":{"id":"x","rx_mode":"tcp","tx_mode":"tcp"},"Cells":[`,
			"is none of the cells"},
		"comparisons": {`"Cells":[`,
			`"Base":{"id":"tcp/tcp","rx_mode":"tcp","tx_mode":"tcp"},"Primary":["x"],"Cells":[`,
			"is none of the cells"},
		"questions": {`"Cells":[`, `"About":["x"],"Cells":[`, "not a factor"},
		"boots":     {`"Cells":[`, `"BetweenBoots":-1,"Cells":[`, "between_boots"},
		"adaptive, and again": {`"Adaptive":null`, `"Adaptive":{"Min":6,"Interval":0.1},"Again":1`,
			"cannot be combined"},
		"adaptive, of one run":  {`"Adaptive":null`, `"Adaptive":{"Min":1,"Interval":0.1}`, "fewer than 6 runs"},
		"too many runs":         {`"Repetitions":4`, `"Repetitions":100000`, "more than the 100000"},
		"a negative rest":       {`"RampUp":1000000000`, `"RampUp":-5`, "ramp_up"},
		"fit, and never ending": {`"Duration":10000000000`, `"Duration":-10000000000`, "duration"},
		"fit, and a stall":      {`"Stall":10000000000`, `"Stall":1`, "stall"},
		"fit, and no samples":   {`"SampleInterval":100000000`, `"SampleInterval":1`, "sample_interval"},
		"a purpose":             {`{"spec":`, `{"purpose":"x","spec":`, "is not a purpose"},
	} {
		plan := recorded(t, s)
		if strings.HasPrefix(name, "fit") { // leaves the windows to the tool, and nothing else
			plan.Played = bytes.Replace(plan.Played, []byte(`{"spec":`), []byte(`{"fit":true,"spec":`), 1)
		}
		if !bytes.Contains(plan.Played, []byte(x.old)) {
			t.Fatalf("%s: %s is not in %s", name, x.old, plan.Played)
		}
		plan.Played = bytes.Replace(plan.Played, []byte(x.old), []byte(x.new), 1)
		if _, err := Replay("j", plan); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// What a journal quotes does not fill the terminal, nor begin lines of its own there.
func TestReplayRefusesInFewWords(t *testing.T) {
	s, err := Parse("x.yaml", []byte(replayed))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for _, x := range []struct{ old, new string }{{`"Cells":`, `"` + long + `":1,"Cells":`},
		{`"Addr":""`, `"Addr":"` + long + `"`}, {`"tx_mode":"tcp"`, `"tx_mode":"` + long + `"`}} {
		plan := recorded(t, s)
		plan.Played = bytes.Replace(plan.Played, []byte(x.old), []byte(x.new), 1)
		if _, err := Replay("j", plan); err == nil || len(err.Error()) > 700 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40s: %.1000v", x.old, err)
		}
	}
}

// Plans of flags are played again: windows that the tool chooses, gates that were named.
func TestReplayOfFlags(t *testing.T) {
	s := New()
	s.Name, s.Duration = "demo", 0
	for _, mode := range []string{"tcp", "uring"} {
		s.Cells = append(s.Cells, plan.Cell{ID: mode + "/tcp", RX: mode, TX: "tcp"})
	}
	s.PrimaryModes(s.Cells[0])
	for key, text := range map[string]string{"throughput_cv": "1%", "drift": "off", "acted": "on", "replace": "0",
		"limit": string(plan.ByReceiver)} {
		if err := s.SetGate(key, text); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Replay("j", recorded(t, s))
	if err != nil || !p.Fit || !reflect.DeepEqual(p.Spec.Gates, s.Gates) {
		t.Errorf("%+v, %v", p, err)
	}
}

// Power is measured as it was; sources that lead elsewhere need the user's word; those whose
// secrets are on no record are asked for.
func TestReplayPower(t *testing.T) {
	s, err := Parse("x.yaml", []byte(replayed))
	if err != nil {
		t.Fatal(err)
	}
	planned := recorded(t, s)
	planned.Power = &plan.PowerPlan{Sources: []string{"rapl", "auto", "sut:nvml?helper=/opt/meter"}, IntervalS: .2,
		IdleS: 3, GuardS: 1}
	p, err := Replay("j", planned)
	if err != nil || len(p.Spec.Power.Sources) != 3 || p.Spec.Power.Idle.Seconds() != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := p.Spec.Untrusted(); err == nil || !strings.Contains(err.Error(), "runs a program") {
		t.Errorf("a program of somebody else's would run: %v", err)
	}
	protects, err := Parse("x.yaml",
		[]byte(replayed+"sut: {host: local}\ntg: {host: local, settings: {sysctl: {net.ipv4.tcp_syncookies: 0}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err = Replay("j", recorded(t, protects))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Spec.Untrusted(); err == nil ||
		!strings.HasPrefix(err.Error(), "j: tg.settings: sysctl net.ipv4.tcp_syncookies") {
		t.Errorf("protection would be switched off for somebody else: %v", err)
	}
	planned.Power.Sources = []string{"no-such-source"}
	if _, err := Replay("j", planned); err == nil || !strings.Contains(err.Error(), "name the sources with --power") {
		t.Error(err)
	}
	command, err := power.ParseSpec("sut:command=/opt/meter -u admin:SECRET")
	if err != nil {
		t.Fatal(err)
	}
	// the last was never written
	for _, text := range []string{command.Public(), "command=meter#ab12", "command=#ab12", "command=/opt/meter"} {
		planned.Power.Sources = []string{text}
		if _, err := Replay("j", planned); err == nil || !strings.Contains(err.Error(), "leaves secrets out") ||
			!strings.Contains(err.Error(), "name the sources with --power") {
			t.Errorf("%s would be run: %v", text, err)
		}
	}
	planned.Power.Sources = nil // others are given
	if p, err := Replay("j", planned); err != nil || len(p.Spec.Power.Sources) != 0 ||
		p.Spec.Power.Guard.Seconds() != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	planned.Power = &plan.PowerPlan{Sources: []string{"rapl"}, IntervalS: 1e-9}
	if _, err := Replay("j", planned); err == nil {
		t.Error("read a billion times a second")
	}
}

// FuzzReplay: whatever a journal says was played, it is refused, or is a plan of its hash.
func FuzzReplay(f *testing.F) {
	text, err := os.ReadFile("../../experiments/quick.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(text), partners} {
		s, err := Parse("a text", []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		b, err := (&Played{Spec: s}).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b))
	}
	f.Add([]byte(`{"spec":{"Cells":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		frugal.Do(t, func() {
			plan := &plan.Origin{Played: b}
			if p, err := decodePlayed("j", plan); err == nil && p.Spec != nil {
				plan.Hash = p.Spec.Hash()
			}
			p, err := Replay("j", plan)
			if err == nil && len(p.Spec.Cells) == 0 {
				t.Fatal("a plan of nothing")
			}
		})
	})
}
