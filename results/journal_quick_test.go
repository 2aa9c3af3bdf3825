// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// plainLine is the line of a record whose texts are plain, as nearly all are.
func plainLine(t testing.TB, change func(*Record)) []byte {
	t.Helper()
	r := flowing(3, 5, 7)
	r.Warnings = []string{"SUT: foreign load 0.26 cores on CPU 1", "second"}
	if change != nil {
		change(&r)
	}
	text, err := encodeRun(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	return lines[len(lines)-1]
}

// both are what the two readers make of a line; ok: the quick one can read it, else the other is
// not asked.
func both(text []byte) (fast, slow line, ok bool, err error) {
	newKnown := func() *known { return &known{cells: map[string]plan.Cell{}, envs: map[string]measure.Env{}} }
	if ok = newKnown().quick(text, &fast); ok {
		err = newKnown().slow(text, &slow)
	}
	return fast, slow, ok, err
}

func sameLine(t *testing.T, text []byte, fast, slow line, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("a line is read that is none: %v\n%s", err, text)
	}
	if !reflect.DeepEqual(slow, fast) {
		t.Fatalf("(-package json +quick), detailed %v and %v:\n%s\n%s", slow.detailed, fast.detailed,
			cmp.Diff(slow.rec, fast.rec), text)
	}
}

// Lines as we write them are read quickly, and say the same.
func TestQuickReadsOurLines(t *testing.T) {
	for name, change := range map[string]func(*Record){
		"flows":      nil,
		"no lists":   func(r *Record) { r.SUT.Metrics, r.SUT.Series, r.SUT.Flows, r.TG.Flows = nil, nil, nil, nil },
		"a negative": func(r *Record) { r.SUT.PowerIdleDrift, r.StartUTCNs = new(-1.25e-7), -5 },
		"failed": func(r *Record) {
			r.Verdict, r.Gate, r.Expected, r.Flags = Invalid, plan.ByProof, true,
				[]string{}
		},
		"probes": func(r *Record) {
			r.Cell.Probe = "latency"
			r.SUT.Probes = &Probes{Sample: 16, T0: "tcx ingress of lo",
				Stages: []Stage{{Name: "tcp_read", Count: new(5.0)}}, Calls: []Syscall{{Name: "read", Calls: new(1e9)}}}
		},
	} {
		text := plainLine(t, change)
		fast, slow, ok, err := both(text)
		if !ok {
			t.Errorf("%s: package json must read %s", name, text)
			continue
		}
		sameLine(t, text, fast, slow, err)
	}
}

// What the quick reader cannot, it leaves alone.
func TestQuickLeavesOthers(t *testing.T) {
	plain := plainLine(t, nil)
	for name, text := range map[string][]byte{
		"blanks":        bytes.Replace(plain, []byte(`,"rep":`), []byte(`, "rep":`), 1),
		"another key":   bytes.Replace(plain, []byte(`"rep":`), []byte(`"reps":`), 1),
		"capitals":      bytes.Replace(plain, []byte(`"rep":`), []byte(`"Rep":`), 1),
		"an escape":     bytes.Replace(plain, []byte(`"second"`), []byte(`"\u0073econd"`), 1),
		"beyond ASCII":  bytes.Replace(plain, []byte(`"second"`), []byte(`"zweitens: ±"`), 1),
		"null":          bytes.Replace(plain, []byte(`"rep":3`), []byte(`"rep":null`), 1),
		"a fraction":    bytes.Replace(plain, []byte(`"rep":3`), []byte(`"rep":3.0`), 1),
		"a zero before": bytes.Replace(plain, []byte(`"rep":3`), []byte(`"rep":03`), 1),
		"hexadecimal":   bytes.Replace(plain, []byte(`"rep":3`), []byte(`"rep":0x3`), 1),
		"not a number":  bytes.Replace(plain, []byte(`"throughput_gbps":`), []byte(`"throughput_gbps":NaN,"x":`), 1),
		"too large":     bytes.Replace(plain, []byte(`"duration_s":1`), []byte(`"duration_s":1e999,"x":1`), 1),
		"more after it": append(bytes.Clone(plain), ' '),
		"old":           bytes.Replace(plain, []byte(`{"schema":3`), []byte(`{"schema":2`), 1),
		"a bad cell":    bytes.Replace(plain, []byte(`"cell":{`), []byte(`"cell":{"mtu":[],`), 1),
		"nothing":       nil,
	} {
		if bytes.Equal(text, plain) {
			t.Fatalf("%s: nothing is changed", name)
		}
		fast, _, ok, _ := both(text)
		if d := cmp.Diff(Record{}, fast.rec); ok || d != "" {
			t.Errorf("%s: read (%v), or something is left:\n%s", name, ok, d)
		}
	}
}

// Whatever happens to a line: what the quick reader reads, package json reads the same.
func TestQuickAgrees(t *testing.T) {
	plain := plainLine(t, nil)
	read := 0
	for at := range plain {
		for _, c := range []string{"", "0", `"`, "}", ",", "-", "e", plain1(plain, at) + plain1(plain, at)} {
			text := append(append(bytes.Clone(plain[:at]), c...), plain[at+1:]...)
			fast, slow, ok, err := both(text)
			if ok {
				read++
				sameLine(t, text, fast, slow, err)
			}
		}
	}
	if t.Logf("%d of them are read", read); read == 0 {
		t.Error("not one is read")
	}
}

func plain1(text []byte, at int) string { return string(text[at : at+1]) }

func FuzzQuick(f *testing.F) {
	f.Add(plainLine(f, nil))
	f.Add([]byte(`{"schema":3,"run_id":"a","sut":{"duration_s":-0.5e+3,"flows":[{"cpu":1}]},"flags":[],"cell":{},` +
		`"cell":{"mtu":5}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if fast, slow, ok, err := both(text); ok {
			if fast.rec.SUT.DurationS != nil && math.IsNaN(*fast.rec.SUT.DurationS) {
				t.Fatal("a number that is none")
			}
			sameLine(t, text, fast, slow, err)
		}
	})
}
