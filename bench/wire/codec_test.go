// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestLinesComeInOrder(t *testing.T) {
	var b bytes.Buffer
	enc := NewEncoder(&b)
	for i := range 100 {
		if err := enc.Encode(Request{ID: i, Op: OpClock}); err != nil {
			t.Fatal(err)
		}
	}
	d := NewDecoder(&b)
	for i := range 100 {
		var r Request
		if err := d.Decode(&r); err != nil || r.ID != i {
			t.Fatalf("message %d: %+v, %v", i, r, err)
		}
	}
	if err := d.Decode(&Request{}); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for name, c := range map[string]struct{ in, say string }{
		"unknown field":   {`{"id":1,"op":"clock","nonsense":2}`, "nonsense"},
		"trailing object": {`{"id":1} {"id":2}`, "more after the object"},
		"trailing word":   {`{"id":1}x`, "more after the object"},
		"wrong type":      {`{"id":"one"}`, "id"},
		"not an object":   {`[1,2]`, "not a JSON object"},
		"no object":       {`null`, "not a JSON object"},
		"not JSON":        {`hello`, "not a JSON object"},
		"no field name":   {`{id:1}`, "invalid character"},
		"cut object":      {`{"id":1`, "unexpected EOF"},
		"empty line":      {``, "not a JSON object"},
		"blanks":          {`  `, "not a JSON object"},
	} {
		// The fault is in the second message.
		d := NewDecoder(strings.NewReader("{\"id\":7}\n" + c.in + "\n"))
		var r Request
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		err := d.Decode(&r)
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), "message 2") {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("%s looks like a clean end: %v", name, err)
		}
	}
}

func TestCutOffLine(t *testing.T) {
	err := NewDecoder(strings.NewReader(`{"id":1}`)).Decode(&Request{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut off after 8 bytes") {
		t.Error(err)
	}
}

// endless is a peer that never ends its line; it counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestTooLongLine(t *testing.T) {
	e := &endless{}
	err := NewDecoder(e).Decode(&Request{})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
	if e.read > MaxLine+1<<20 {
		t.Errorf("read %d bytes of it", e.read)
	}
	long := `{"op":"` + strings.Repeat("a", 1<<20) + `"}`
	var r Request
	if err := NewDecoder(strings.NewReader(long + "\n")).Decode(&r); err != nil || len(r.Op) != 1<<20 {
		t.Errorf("a line of 1 MiB: %v", err)
	}
}

func TestEncodersShareOneStream(t *testing.T) {
	r, w := io.Pipe()
	enc, d := NewEncoder(w), NewDecoder(r)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				enc.Encode(Response{ID: g*1000 + i, Error: &Error{Message: strings.Repeat("m", i*100)}})
			}
		})
	}
	go func() { wg.Wait(); w.Close() }()
	seen := map[int]bool{}
	for {
		var m Response
		if err := d.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen[m.ID] = true
	}
	if len(seen) != 400 {
		t.Errorf("%d messages of 400", len(seen))
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestEncodeErrors(t *testing.T) {
	if err := NewEncoder(broken{}).Encode(Clock{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("broken output: %v", err)
	}
	if err := NewEncoder(io.Discard).Encode(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

// FuzzDecode: what is taken encodes to what is taken as the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"id":1,"op":"run","params":{"start_ns":5}}`, `{"ID":2}`, `null`, ``, `{"id":1}{`,
		"{\"id\":\n1}"} {
		f.Add(s + "\n")
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := NewDecoder(strings.NewReader(s))
		for n := 1; ; n++ {
			var r, back Request
			err := d.Decode(&r)
			if err == io.EOF {
				return
			}
			if err != nil {
				if want := fmt.Sprintf("message %d: ", n); !strings.HasPrefix(err.Error(), want) ||
					errors.Is(err, io.EOF) {
					t.Fatalf("error %q does not begin with %q, or ends the stream", err, want)
				}
				return
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := decodeStrict(b, &back); err != nil || back.ID != r.ID || back.Op != r.Op {
				t.Fatalf("%+v became %+v: %v", r, back, err)
			}
		}
	})
}

// FuzzResponse: an agent's answer is taken whole or is an error, and what it
// says of a run is taken whole or is one too.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{`{"id":1,"result":{"verdict":"ok","host":{"env":{}},"total":{},"window":{}}}`,
		`{"id":1,"error":{"message":"m","verdict":"failed"}}`,
		`{"id":1,"result":{"verdict":7}}`, `{"id":-1,"result":[]}`, `{"id":1}`, `null`} {
		f.Add(s + "\n")
	}
	f.Fuzz(func(t *testing.T, s string) {
		var r Response
		if err := NewDecoder(strings.NewReader(s)).Decode(&r); err != nil {
			return
		}
		for _, v := range []any{&EndResult{}, &HelloResult{}, &[]ModeSupport{}, &Clock{}, &Route{}} {
			if err := r.Decode(v); err != nil {
				if errors.Is(err, io.EOF) {
					t.Fatalf("the error %q looks like the end of the conversation", err)
				}
				continue
			}
			if _, err := json.Marshal(v); err != nil {
				t.Fatalf("%+v was taken and cannot be given: %v", v, err)
			}
		}
	})
}
