// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results/resultstest"
)

// A journal that is cut at any byte has every record whose line is whole, or says
// that there is no header; a cut in the middle of a line is told. Nothing is lost
// in silence.
func TestJournalCutAnywhere(t *testing.T) {
	long.Garbage(t)
	data, err := os.ReadFile(filepath.Join(writeJournal(t, long.Rounds(3, 40)), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.IndexByte(data, '\n') + 1
	whole, last := 0, head // records before the cut; the end of the last of them
	for cut := range len(data) + 1 {
		if cut > head && runEnds(data[:cut]) {
			whole, last = whole+1, cut
		}
		j, err := Decode(bytes.NewReader(data[:cut]))
		if cut < head {
			if err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
				t.Fatalf("cut at %d, in the header: %v", cut, err)
			}
			continue
		}
		if err != nil || len(j.Records) != whole || j.End != int64(last) || (cut > last) != (len(j.Skipped) == 1) {
			t.Fatalf("cut at %d of %d: %d records, want %d; end %d, want %d; skipped %v; %v", cut, len(data),
				len(j.Records), whole, j.End, last, j.Skipped, err)
		}
	}
	t.Logf("%d cuts", len(data)+1)
}

// TestResumeCutAnywhere is the same of a journal that is gone on with: what was
// whole is there, what is appended too, and nothing twice.
func TestResumeCutAnywhere(t *testing.T) {
	long.Garbage(t)
	data, err := os.ReadFile(filepath.Join(writeJournal(t, 3), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, JournalFile)
	head := bytes.IndexByte(data, '\n') + 1
	for cut := head; cut <= len(data); cut += long.Rounds(13, 1) {
		if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		w, j, torn, err := Resume(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		last := cut
		for last > head && !runEnds(data[:last]) {
			last--
		}
		r := sample(5)
		err = w.Append(r)
		w.Close()
		after, rerr := Read(path)
		if err := errors.Join(err, rerr); err != nil || torn != int64(cut-last) ||
			len(after.Records) != len(j.Records)+1 || len(after.Skipped) != 0 {
			t.Fatalf("cut at %d: %d bytes torn, want %d; %d records became %d; skipped %v; %v", cut, torn, cut-last,
				len(j.Records), len(after.Records), after.Skipped, err)
		}
	}
}

// runEnds tells whether a line ends here that is no run's metrics and series, whose
// record is still to come.
func runEnds(data []byte) bool {
	before, ends := bytes.CutSuffix(data, []byte("\n"))
	return ends && !bytes.HasPrefix(before[bytes.LastIndexByte(before, '\n')+1:], detailsPrefix)
}

// damaged gives each n journals, which are a good one with something wrong with
// it: the same ones every time.
func damaged(t *testing.T, n int, each func(i int, b []byte)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(writeJournal(t, 5), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(6, 600))
	for i := range n {
		b := bytes.Clone(data)
		for range 1 + rnd.IntN(3) {
			b = resultstest.Corrupt(rnd, b)
		}
		each(i, b)
	}
}

// A journal that is damaged in any way is read as far as it is sound, and what is
// not is told by line: no panic, no record that would be refused when written, and
// tables can be made of the rest.
func TestJournalCorruptions(t *testing.T) {
	long.Garbage(t)
	n, unread, told := long.Rounds(600, 6000), 0, 0
	damaged(t, n, func(i int, b []byte) {
		j, err := Decode(bytes.NewReader(b))
		if _, ferr := decode(bytes.NewReader(b), maxLine, figuresOnly); err == nil && ferr != nil { // may notice less
			t.Errorf("corruption %d: the figures alone cannot be read: %v", i, ferr)
		}
		if err != nil {
			if v := (*versionError)(nil); !strings.HasPrefix(err.Error(), "line 1") && !errors.As(err, &v) {
				t.Errorf("corruption %d: %v", i, err)
			}
			unread++
			return
		}
		if lines := bytes.Count(b, []byte("\n")) - bytes.Count(b,
			append([]byte("\n"), detailsPrefix...)); len(j.Records)+len(j.Skipped) < lines-1 &&
			len(j.Skipped) < maxProblems {
			t.Errorf("corruption %d: %d records, %d told, of %d lines that are no details", i, len(j.Records),
				len(j.Skipped), lines-1)
		}
		if len(j.Skipped) > 0 {
			told++
		}
		o := newOrder()
		for k := range j.Records {
			if err := errors.Join(j.Records[k].validate(), o.check(&j.Records[k])); err != nil {
				t.Errorf("corruption %d: %v", i, err)
			}
			o.add(&j.Records[k])
		}
		if err := errors.Join(WriteRuns(io.Discard, j.Records), writeMetrics(io.Discard, j.Records),
			writeSamples(io.Discard, j.Records), WriteFlows(io.Discard, j.Records)); err != nil {
			t.Errorf("corruption %d: %v", i, err)
		}
	})
	t.Logf("%d not to be read, lines of %d skipped and told", unread, told)
	if told < n/6 || unread > n/2 {
		t.Errorf("the corruptions are no test: %d not to be read, lines of %d skipped", unread, told)
	}
}
