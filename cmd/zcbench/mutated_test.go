// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Bounds of a command that reads a folder, whatever is in it. Its CPU time is bounded rather than
// the wall clock's, so that other work on this machine decides nothing.
const (
	mostCPU    = 20      // seconds
	mostMemory = 300_000 // kB, resident
)

// readers are the commands that read folders: of $1, beside $2, which is a sound one, and $3, the
// plan of both. They write into $1 and $4.
var readers = []reader{
	{line: `zcbench compare "$2" "$1"`},
	{line: `zcbench compare --json "$1"`},
	{line: `zcbench compare --ktap "$1" "$2"`},
	{line: `zcbench compare --why --flame "$4/why.html" "$1@rx=tcp" "$1@rx=tcp-trunc"`},
	{line: `zcbench compare "$1/runs.csv" "$2/runs.csv"`},
	{line: `zcbench fleet --all --html "$4/fleet.html" --csv "$4/fleet.csv" "$1" "$2"`, plans: true},
	{line: `zcbench rerun --dry-run "$1"`, plans: true},
	{line: `zcbench matrix --dry-run --resume "$3" --out "$1"`},
	{line: `zcbench power import "$1" --log "csv=$2/watts.csv" --out "$4/watts"`},
	{line: `zcbench report --idle "$1"`},
	{line: `zcbench share --dry-run "$1"`},
	{line: `zcbench report --json "$1"`, writes: true},
	{line: `zcbench report "$1"`, writes: true, plans: true},
	{line: `zcbench export --csv --json --benchfmt --prometheus "$1"`, writes: true},
	{line: `zcbench matrix --resume "$3" --out "$1"`, writes: true, plans: true},
}

// mutation is something that a stranger did to a results folder.
type mutation struct {
	name string
	line int  // of the journal; 0: of no line, or of several
	plan bool // of what was played, which few commands look at
	do   func(dir string) error
}

const mutatedPlan = `
name: mutated
sut: {host: local}
tg: {host: local}
factors: {rx: [tcp, tcp-trunc], tx: tcp}
duration: 100ms
ramp_up: 30ms
ramp_down: 20ms
sample_interval: 30ms
repetitions: 2
seed: 7
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off, replace: 0}
`

// wholeFolder makes a folder by an experiment that is run, with profiles, as the next one will have
// them; and the plan.
func wholeFolder(t *testing.T) (dir, plan string) {
	t.Helper()
	base := t.TempDir()
	plan, dir = filepath.Join(base, "plan.yaml"), filepath.Join(base, "whole")
	if err := os.WriteFile(plan, []byte(mutatedPlan), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(base, "run")
	if p := built.Start(t, "zcbench", "matrix", plan, "--out", out); p.Wait(await.Hang) > 1 { // 1: a busy machine
		t.Fatal(&p.Err)
	}
	j := journal(t, out)
	w, err := results.Create(dir, j.Header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range j.Records {
		r := &j.Records[i]
		sut, tg := r.SUT, r.TG
		whyRun(t, r, r.Rep, max(0, slices.Index([]string{"tcp", "tcp-trunc"}, r.Cell.RX)), true)
		probes := r.SUT.Probes
		r.SUT, r.TG, r.Verdict, r.Reason, r.Gate = sut, tg, results.OK, "", ""
		r.SUT.Probes = probes
		if err := errors.Join(w.Attach(r), w.Append(*r)); err != nil {
			t.Fatal(err)
		}
	}
	watts := "time,watts\n"
	for at := j.Records[0].StartUTCNs/1e9 - 10; at < j.Records[len(j.Records)-1].StartUTCNs/1e9+10; at++ {
		watts += fmt.Sprintf("%d,100\n", at)
	}
	err = errors.Join(w.Close(), os.CopyFS(filepath.Join(dir, "environment"),
		os.DirFS(filepath.Join(out, "environment"))),
		os.WriteFile(filepath.Join(dir, "watts.csv"), []byte(watts), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`zcbench report "$1"`, `zcbench export --csv --json "$1"`} {
		if p := built.Shell(t, line, dir); p.Wait(await.Hang) != 0 {
			t.Fatal(&p.Err)
		}
	}
	return dir, plan
}

// spot is where something stands in a line of JSON, by the names of its members. "[]" is the first
// of a list, "*" any name of a map.
type spot []string

func (p spot) String() string { return strings.Join(p, ".") }

// placesOf gives each every place of a type, those of lists and structs before what is in them.
// What is in a struct it gives once, where such a one is first.
func placesOf(t reflect.Type, at spot, seen map[reflect.Type]bool, each func(spot, reflect.Type)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(at) > 0 {
		each(at, t)
	}
	under := func(name string, t reflect.Type) { placesOf(t, append(at[:len(at):len(at)], name), seen, each) }
	switch t.Kind() {
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for _, f := range reflect.VisibleFields(t) { // of structs that are embedded, too
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
				continue
			}
			under(cmp.Or(name, f.Name), f.Type)
		}
	case reflect.Slice, reflect.Array:
		if t != reflect.TypeFor[json.RawMessage]() {
			under("[]", t.Elem())
		}
	case reflect.Map:
		under("*", t.Elem())
	}
}

// set is a text with something else at a place. What the place is in is made where it is missing.
func set(text []byte, at spot, value []byte) []byte {
	if len(at) == 0 {
		return value
	}
	if at[0] == "[]" {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil || len(list) == 0 {
			list = []json.RawMessage{nil}
		}
		list[0] = set(list[0], at[1:], value)
		parts := make([][]byte, len(list))
		for i := range list {
			parts[i] = list[i]
		}
		return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
	}
	out, found := []byte("{"), false
	member := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(fmt.Appendf(out, "%q:", name), value...)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err == nil && first == json.Delim('{') {
		for dec.More() {
			name, _ := dec.Token()
			var v json.RawMessage
			if dec.Decode(&v) != nil {
				break
			}
			if name == at[0] || at[0] == "*" && !found {
				found, v = true, set(v, at[1:], value)
			}
			member(name.(string), v)
		}
	}
	if !found {
		member(strings.ReplaceAll(at[0], "*", "x"), set(nil, at[1:], value))
	}
	return append(out, '}')
}

// get is what stands at a place, nil if nothing does.
func get(text []byte, at spot) json.RawMessage {
	for _, name := range at {
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch {
		case name == "[]" && json.Unmarshal(text, &list) == nil && len(list) > 0:
			text = list[0]
		case name != "[]" && json.Unmarshal(text, &object) == nil:
			if name == "*" {
				for name = range maps.Keys(object) {
					break
				}
			}
			text = object[name]
		default:
			return nil
		}
	}
	return text
}

// change is a value that a stranger puts at a place.
type change struct {
	name  string
	value func(was []byte) []byte
	all   bool // in each line of its kind, not in one
}

func constant(name, text string) change {
	return change{name, func([]byte) []byte { return []byte(text) }, true}
}

// list is a list of so many elements, shorter if they are long ones.
func list(n int, element []byte) []byte {
	const most = 48 << 20
	n = min(n, most/(len(element)+1))
	return append(append([]byte("["), bytes.Repeat(append(bytes.Clone(element), ','), n-1)...), append(element, ']')...)
}

const million = 1_000_000

// pick is one of many texts, which depends on the place: there are too many places for all of them.
func pick(at spot, texts ...string) change {
	h := fnv.New32()
	h.Write([]byte(at.String()))
	text := texts[h.Sum32()%uint32(len(texts))]
	return constant(text, text)
}

// changesOf are what is done to a value of a type that is at a place.
func changesOf(at spot, t reflect.Type) (out []change) {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		least := map[reflect.Kind]string{reflect.Struct: "{}", reflect.Pointer: "{}", reflect.Map: "{}",
			reflect.String: `""`, reflect.Slice: "[]", reflect.Bool: "true"}[t.Elem().Kind()]
		if least == "" {
			least = "0"
		}
		out = append(out, change{"a million of " + least, func([]byte) []byte { return list(million, []byte(least)) },
			false},
			change{"a million of its first", func(was []byte) []byte {
				var l []json.RawMessage
				if json.Unmarshal(was, &l) != nil || len(l) == 0 {
					return nil
				}
				return list(million, l[0])
			}, false})
	case reflect.Map:
		out = append(out, change{"a million names", func([]byte) []byte {
			b := []byte("{")
			for i := range million {
				b = fmt.Appendf(b, `"k%d":null,`, i)
			}
			return append(b, `"x":null}`...)
		}, false})
	case reflect.String:
		return []change{{"a MB", func([]byte) []byte {
			return []byte(`"` + strings.Repeat(pick(at, "x", `<\n, `, `=\u001b`).name, 1<<18) + `"`)
		}, true}}
	case reflect.Bool:
		return nil
	case reflect.Struct, reflect.Interface:
	default: // numbers
		return []change{pick(at, "-1", "0", "1e308", "5e-324", "9223372036854775807", "9223372036854775808",
			"-9223372036854775808", `"NaN"`)}
	}
	if other := pick(at, "deep", "null"); other.name == "null" {
		return append(out, other)
	}
	return append(out, change{"deep", func([]byte) []byte {
		return []byte(strings.Repeat(`{"a":[`, 1<<20) + strings.Repeat("]}", 1<<20))
	}, false})
}

// inLines are the mutations of the lines of a journal.
func inLines(text []byte) (out []mutation) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	for _, x := range []struct {
		name string
		of   reflect.Type
		line int
	}{{"header", reflect.TypeFor[results.Header](), 0}, {"details", reflect.TypeFor[details](),
		lineOf(lines, `{"kind":"details"`)}, {"record", reflect.TypeFor[results.Record](),
		lineOf(lines, `{"schema"`)}} {
		placesOf(x.of, nil, map[reflect.Type]bool{},
			func(at spot, of reflect.Type) { out = append(out, atPlace(lines, x.name, x.line, at, of)...) })
	}
	// The plan as it was played is JSON in the header; with its hash, it is what rerun plays.
	placesOf(reflect.TypeFor[matrix.Played](), spot{"plan", "played"}, map[reflect.Type]bool{},
		func(at spot, of reflect.Type) {
			out = append(out, atPlace(lines, "played", 0, at, of)...)
		})
	return out
}

// details are the lists of a run, which its journal has on a line before.
type details struct {
	RunID   string `json:"run_id"`
	SUT, TG struct {
		Metrics []measure.Metric `json:"metrics"`
		Series  []measure.Series `json:"series"`
		Idle    []string         `json:"idle"`
	}
}

// lineOf is the last line that begins so: of a run that counts.
func lineOf(lines [][]byte, prefix string) int {
	for i, line := range slices.Backward(lines) {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return i
		}
	}
	return 0
}

// atPlace are what is done to one place of one line, or of all lines that are like it.
func atPlace(lines [][]byte, kind string, n int, at spot, of reflect.Type) (out []mutation) {
	if kind == "details" && len(at) > 0 { // its members have names in lower case
		at = append(spot{strings.ToLower(at[0])}, at[1:]...)
	}
	for _, c := range changesOf(at, of) {
		if value := get(lines[n], at); c.value(value) == nil {
			continue
		}
		m := mutation{name: fmt.Sprintf("%s/%v: %s", kind, at, c.name), line: n + 1, plan: kind == "played"}
		if c.all && n > 0 {
			m.line = 0
		}
		m.do = func(dir string) error {
			to := slices.Clone(lines)
			for i := range to {
				if i == n || c.all && n > 0 && bytes.HasPrefix(to[i], lines[n][:9]) {
					to[i] = set(to[i], at, c.value(get(to[i], at)))
				}
			}
			if kind == "played" {
				to[0] = rehashed(to[0])
			}
			return os.WriteFile(filepath.Join(dir, results.JournalFile), append(bytes.Join(to, []byte("\n")), '\n'),
				0o666)
		}
		out = append(out, m)
	}
	return out
}

// rehashed is a header whose plan has the hash of what it says was played.
func rehashed(head []byte) []byte {
	var p matrix.Played
	if json.Unmarshal(get(head, spot{"plan", "played"}), &p) != nil || p.Spec == nil {
		return head
	}
	return set(head, spot{"plan", "hash"}, fmt.Appendf(nil, "%q", p.Spec.Hash()))
}

// ofFiles are what is put in place of each file of a folder.
func ofFiles(t *testing.T, dir string) (out []mutation) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); err == nil && name != "." && name != "watts.csv" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, x := range []struct {
			name string
			put  func(path string) error
		}{
			{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o666) }},
			{"/dev/zero", func(path string) error { return os.Symlink("/dev/zero", path) }},
			{"a link to itself", func(path string) error { return os.Symlink(filepath.Base(path), path) }},
			{"a folder", func(path string) error { return os.Mkdir(path, 0o777) }},
			{"a device", func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }},
			{"empty", func(path string) error { return os.WriteFile(path, nil, 0o666) }},
			{"a MB of one line", func(path string) error {
				return os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20),
					0o666)
			}},
			{"a million lines", func(path string) error {
				return os.WriteFile(path, bytes.Repeat([]byte("x,\"y\"\n"),
					million), 0o666)
			}},
			{"a TB of zeros", func(path string) error {
				return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 1<<40))
			}},
			{"closed to all", func(path string) error { return os.WriteFile(path, []byte("x"), 0) }},
			{"gone", func(string) error { return nil }},
		} {
			out = append(out, mutation{name: filepath.Dir(file) + "/" + filepath.Ext(file) + ": " + x.name,
				do: func(dir string) error {
					path := filepath.Join(dir, file)
					err := errors.Join(os.RemoveAll(path), x.put(path))
					if errors.Is(err, syscall.EPERM) { // only root makes devices
						return nil
					}
					return err
				}})
		}
	}
	return once(out)
}

// once leaves one mutation of each name: what is true of one profile is of all.
func once(all []mutation) (out []mutation) {
	seen := map[string]bool{}
	for _, m := range all {
		if !seen[m.name] {
			seen[m.name] = true
			out = append(out, m)
		}
	}
	return out
}

// few picks so many of the mutations, from all of them. In the long tests they are others each day,
// so that all have their turn; in those of every change the same: what fails there is the change.
func few(all []mutation, n int) (out []mutation) {
	n = min(n, len(all))
	turn := 0
	if long.Wanted() {
		turn = int(time.Now().Unix() / 86400)
	}
	for i := range n {
		from, to := i*len(all)/n, (i+1)*len(all)/n
		out = append(out, all[from+turn%(to-from)])
	}
	return out
}

// TestMutatedFolder: whatever is in a results folder, each command that reads it ends within its
// bounds, with status 0, 1 or 2, and says where what it does not take stands.
func TestMutatedFolder(t *testing.T) {
	whole, plan := wholeFolder(t)
	text, err := os.ReadFile(filepath.Join(whole, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	all := append(once(inLines(text)), ofFiles(t, whole)...)
	if only := os.Getenv("ZCBENCH_TEST_MUTATION"); only != "" {
		all = slices.DeleteFunc(all, func(m mutation) bool { return !strings.Contains(m.name, only) })
	} else {
		all = few(all, long.Rounds(12, 250))
	}
	t.Logf("%d mutations", len(all))
	for _, m := range all {
		t.Run(strings.ReplaceAll(m.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			tryMutation(t, m, whole, plan)
		})
	}
}

// reader is a command that reads a folder.
type reader struct {
	line   string
	writes bool // into the folder
	plans  bool // it looks at what was played
}

func tryMutation(t *testing.T, m mutation, whole, plan string) {
	t.Helper()
	base, err := os.MkdirTemp("", "zcbench-mutated-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	dir := ""
	for i, r := range readers {
		if m.plan && !r.plans {
			continue
		}
		out := filepath.Join(base, fmt.Sprint("o", i))
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			dir = filepath.Join(base, fmt.Sprint("d", i))
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), m.alone(dir)); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
		}
		p := built.Shell(t, fmt.Sprintf("ulimit -t %d; ulimit -d 2000000; exec ", mostCPU)+r.line, dir, whole, plan,
			out)
		peak := peakOf(p.Process.Pid)
		status := p.Wait(await.Hang)
		m.judge(t, r.line, dir, status, peak, p)
		if os.RemoveAll(out); r.writes {
			os.RemoveAll(dir)
			dir = ""
		}
	}
}

// making is held while a mutation is made: some are of a hundred megabytes.
var making sync.Mutex

func (m *mutation) alone(dir string) error {
	making.Lock()
	defer making.Unlock()
	return m.do(dir)
}

// judge looks at how a command has ended.
func (m *mutation) judge(t *testing.T, line, dir string, status, peak int, p *built.Process) {
	t.Helper()
	said := p.Err.String()
	at := fmt.Sprint("line ", m.line)
	switch {
	case status < 0 || status > 2:
		t.Errorf("%s: %s: %v: %.400s", m.name, line, p.ProcessState, said)
	case strings.Contains(said, "\ngoroutine "), strings.Contains(said, "fatal error: "):
		t.Errorf("%s: %s: %.2000s", m.name, line, said)
	case status == 2 && !strings.Contains(said, dir) && !strings.Contains(said, "journal"):
		t.Errorf("%s: %s: names no file: %.400s", m.name, line, said)
	case status == 2 && m.line > 1 && !strings.Contains(said, at) || m.plan && strings.Contains(line, "rerun") &&
		status == 2 && !strings.Contains(said, at):
		t.Errorf("%s: %s: does not name line %d: %.400s", m.name, line, m.line, said)
	}
	if cpu := p.ProcessState.UserTime() + p.ProcessState.SystemTime(); peak > mostMemory || cpu.Seconds() > mostCPU {
		t.Errorf("%s: %s: %d MB, %v of CPU time", m.name, line, peak/1000, cpu)
	}
}

// peakOf is the most memory that a process has had until it ended, in kB. What the kernel says of a
// child that has ended counts also what its parent had when it was started.
func peakOf(pid int) (kb int) {
	await.So(func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, had, lives := strings.Cut(string(status), "\nVmHWM:")
		if lives {
			fmt.Sscan(had, &kb)
		}
		return !lives
	})
	return kb
}
