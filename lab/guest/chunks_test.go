// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestChunks(t *testing.T) {
	var b bytes.Buffer
	want := [][]byte{bytes.Repeat([]byte("0123456789"), 3*maxChunk/10), nil, []byte("x"), make([]byte, maxChunk)}
	for _, p := range want {
		w := NewChunkWriter(&b)
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("rest")
	r := iotest.HalfReader(&b)
	for i, p := range want {
		got, err := io.ReadAll(NewChunkReader(r))
		if err != nil || !bytes.Equal(got, p) {
			t.Errorf("archive %d: %d of %d bytes, %v", i, len(got), len(p), err)
		}
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("what follows is %q", rest)
	}
}

func TestChunksAborted(t *testing.T) {
	var b bytes.Buffer
	w := NewChunkWriter(&b)
	w.Write(make([]byte, maxChunk+1))
	w.Abort()
	got, err := io.ReadAll(NewChunkReader(&b))
	if len(got) != maxChunk || !errors.Is(err, errAborted) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestChunksCutOff(t *testing.T) {
	var whole bytes.Buffer
	w := NewChunkWriter(&whole)
	w.Write([]byte("text"))
	w.Close()
	for n := range whole.Len() {
		if _, err := io.ReadAll(NewChunkReader(bytes.NewReader(whole.Bytes()[:n]))); err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := io.ReadAll(NewChunkReader(bytes.NewReader([]byte{0, 2, 0, 0, 1}))); err == nil ||
		err == io.ErrUnexpectedEOF {
		t.Errorf("a chunk that is too long: %v", err)
	}
}
