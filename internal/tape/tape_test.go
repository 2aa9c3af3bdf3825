// SPDX-License-Identifier: MIT

package tape

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// written makes a record of what f asks, writes it and reads it again.
func written(t *testing.T, f func()) *File {
	t.Helper()
	r, err := Record(func() error { f(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("f", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return again
}

// A record answers what the kernel did, without being asked again; the first answer holds; and
// what was not asked has no answer.
func TestReplay(t *testing.T) {
	n := 0
	number := func() (int, error) { n++; return n, nil }
	ask := func() (a, b int, c Bytes, err error) {
		a, _ = Ask("a number", number)
		b, _ = Ask("a number", number)
		c, err = Ask("bytes", func() (Bytes, error) { n++; return Bytes{1, 0xfe}, nil })
		return a, b, c, err
	}
	f := written(t, func() {
		if a, b, c, err := ask(); a != 1 || b != 1 || len(c) != 2 || err != nil {
			t.Errorf("while recording: %d, %d, %v, %v", a, b, c, err)
		}
		_, _ = Ask("outer", func() (int, error) { return Ask("inner", number) })
	})
	was := n
	err := f.Replay(func() error {
		if !Replaying() || Recording() {
			t.Error("it does not replay")
		}
		if a, b, c, err := ask(); a != 1 || b != 1 || !bytes.Equal(c, []byte{1, 0xfe}) || err != nil {
			t.Errorf("replayed: %d, %d, %v, %v", a, b, c, err)
		}
		if v, err := Ask("outer", number); v != was || err != nil {
			t.Errorf("outer: %d, %v", v, err)
		}
		_, err := Ask("inner", number)
		return err
	})
	if !errors.Is(err, ErrNoAnswer) || fault.Fix(err) == "" {
		t.Errorf("what was part of another answer: %v", err)
	}
	if n != was {
		t.Error("the kernel was asked")
	}
	if a, _ := Ask("a number", number); a != was+1 {
		t.Error("after the replay the record still answers")
	}
}

// What is noted is done each time, and ended as it did the first time.
func TestNote(t *testing.T) {
	f := written(t, func() {
		if err := Note("open", unix.EPERM); err != unix.EPERM {
			t.Error(err)
		}
		if err := Note("open", nil); err != nil {
			t.Error("what happens while recording is what happens")
		}
	})
	if err := f.Replay(func() error { return Note("open", nil) }); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
}

// Errors come back with what explains them.
func TestFailures(t *testing.T) {
	for i, err := range []error{
		unix.EOPNOTSUPP,
		&fault.Error{Op: "bind", Err: unix.EINVAL, Ack: "tcp-data-split is disabled", How: "switch it on"},
		&fault.Unsupported{Mode: "zcrx", Op: "register", Err: fmt.Errorf("%w: no queue operations", unix.EOPNOTSUPP),
			How: "another NIC"},
		&netlink.OpError{Op: "receive", Err: unix.EINVAL, Message: "Unknown attribute type"},
		&os.PathError{Op: "open", Path: "/dev/x", Err: unix.ENOENT},
		errors.New("without an errno"),
		errors.Join(&fault.Error{Op: "one", Err: unix.EEXIST}),
	} {
		f := written(t, func() { _ = Try("it", func() error { return err }) })
		got := f.Replay(func() error { return Try("it", nil) })
		if got.Error() != err.Error() || fault.Fix(got) != fault.Fix(err) || fault.Reason(got) != fault.Reason(err) {
			t.Errorf("%d: %v (%s), was %v (%s)", i, got, fault.Fix(got), err, fault.Fix(err))
		}
		var was, is unix.Errno
		if errors.As(err, &was) != errors.As(got, &is) || was != is {
			t.Errorf("%d: %v, was %v", i, is, was)
		}
		var nl, nlWas *netlink.OpError
		if errors.As(err, &nlWas) && (!errors.As(got, &nl) || nl.Message != nlWas.Message) {
			t.Errorf("%d: %#v", i, got)
		}
	}
}

// Wrong files are refused with the place.
func TestParseRefuses(t *testing.T) {
	const head = `{"format":"zcbench-record","version":1,"tool_version":"x","dev":"eth0","answers":[`
	for text, want := range map[string]string{
		"":                          "f:1:1: the file ends",
		head + "\n{\"asked\":\"a\"": "f:2:13: the file ends",
		"[]":                        "f:1:2: cannot unmarshal array",
		"{\n  \"colour\": 1}":       `f:2:3: unknown field "colour"`,
		head + "\n{\"asked\": 5}]}": "f:2:12: cannot unmarshal number",
		head + "]} more":            "f:1:" + fmt.Sprint(len(head)+4) + ": data after the record",
		`{"format":"zcbench-record","version":2}`: "the record has version 2",
		`{"format":"other","version":1}`: "not a record of zcbench doctor " +
			"--record: format",
		`{"format":"zcbench-record","version":1,"dev":"$(reboot)"}`:        `dev "$(reboot)" is not a name`,
		`{"format":"zcbench-record","version":1,"dev":"-e"}`:               `dev "-e" is not a name`,
		`{"format":"zcbench-record","version":1,"dev":"sixteen-letters-"}`: `dev "sixteen-letters-" is not a name`,
		`{"format":"zcbench-record","version":1,"tool_version":"1\nok all"}`: "tool_version is not plain text, " +
			"or too long",
		head + "\n{\"asked\":\"a\"},\n {\"asked\":\"a\"}]}": "f:3:2: answer 2: the question " +
			"has already been answered",
		head + "\n{\"asked\":\"a\\u001b[2J\"}]}": "f:2:1: answer 1: the question " +
			"is not plain text",
		head + "\n{\"asked\":\"a\",\"got\":[\"x\\u001b\"]}]}": "f:2:1: answer 1: the answer has " +
			"text that is not plain",
		head + "\n{\"asked\":\"a\",\"got\":1,\"failed\":{\"errno\":1}}]}":      "both a value and a failure",
		head + "\n{\"asked\":\"a\",\"failed\":{\"errno\":99999}}]}":            "errno 99999",
		head + "\n{\"asked\":\"a\",\"failed\":{}}]}":                           "an empty failure",
		head + "\n{\"asked\":\"a\",\"failed\":{\"kind\":\"x\",\"errno\":1}}]}": `a failure of kind "x"`,
		strings.Repeat(" ", MaxBytes+1):                                        "longer than",
	} {
		_, err := Parse("f", []byte(text))
		var s *syntaxError
		if !errors.As(err, &s) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":"zcbench-record","version":1,"tool_version":"x","dev":"eth0","answers":[{"asked":"a",` +
		`"got":["00ff"]},{"asked":"b","failed":{"kind":"error","op":"c","inner":{"errno":22}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse("f", text)
		if err != nil {
			var s *syntaxError
			if !errors.As(err, &s) || s.Line < 1 || s.Column < 1 || !plain(err.Error()) {
				t.Errorf("%#v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			if len(text) > MaxBytes/8 {
				return // escapes make it longer
			}
			t.Fatal(err)
		}
		if _, err := Parse("f", b.Bytes()); err != nil {
			t.Errorf("what was written is not read: %v\n%s", err, &b)
		}
		for _, a := range r.Answers {
			_ = r.Replay(func() error {
				_,
					err := Ask(a.Asked, func() ([]Bytes, error) { return nil, nil })
				return err
			})
		}
	})
}
