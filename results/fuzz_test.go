// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/frugal"
)

// fuzzHead is the header of a journal, with its end of line.
func fuzzHead(f *testing.F) []byte {
	f.Helper()
	data, err := os.ReadFile("testdata/journal-v3.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	return data[:bytes.IndexByte(data, '\n')+1]
}

// readAny reads a journal. What is read of it can be written again, and into tables.
func readAny(t *testing.T, text []byte) {
	t.Helper()
	frugal.Do(t, func() { readAndWrite(t, text) })
}

func readAndWrite(t *testing.T, text []byte) {
	t.Helper()
	j, err := Decode(bytes.NewReader(text))
	if err != nil {
		return
	}
	for _, r := range j.Records {
		lines, err := encodeRun(r)
		if unfit := (*UnfitError)(nil); err != nil && !errors.As(err, &unfit) {
			t.Fatal(err)
		} else if err != nil {
			continue
		}
		again, err := Decode(bytes.NewReader(append(text[:bytes.IndexByte(text, '\n')+1:bytes.IndexByte(text, '\n')+1],
			lines...)))
		if err != nil || len(again.Records) != 1 {
			t.Fatalf("%v, %v of %s", err, again.Skipped, lines)
		}
	}
	for _, write := range []func(io.Writer, []Record) error{WriteRuns, writeMetrics, writeSamples, WriteFlows} {
		if err := write(io.Discard, j.Records); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzDetails is of a line of metrics and series, before a record that is sound.
func FuzzDetails(f *testing.F) {
	head := fuzzHead(f)
	run, err := encodeRun(sample(0))
	if err != nil {
		f.Fatal(err)
	}
	line, record, _ := bytes.Cut(run, []byte("\n"))
	f.Add(line)
	f.Add([]byte(`{"kind":"details","run_id":"r","sut":{"metrics":[{"metric":"a_N","of":["b"],"value":-0}],` +
		`"series":[{"t_ns":[1],"v":[]}],"idle":["a:N"]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		readAny(t, bytes.Join([][]byte{bytes.TrimSuffix(head, []byte("\n")), line, record}, []byte("\n")))
	})
}

// FuzzRecord is of the line of a record, which is read alone.
func FuzzRecord(f *testing.F) {
	head := fuzzHead(f)
	for _, r := range []Record{sample(0), flowing(0, 5, 7)} {
		run, err := encodeRun(r)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(run) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) { readAny(t, append(head[:len(head):len(head)], line...)) })
}
