// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A port carries one archive after another and never ends: each goes in chunks, a
// length of four bytes before the bytes. Length 0 ends an archive, aborted says that
// the rest will not come.
const (
	maxChunk = 64 << 10
	aborted  = 1<<32 - 1
)

// errAborted is the end of what the sender could not send to its end.
var errAborted = errors.New("the sender gave up")

// ChunkWriter writes chunks. Close or Abort ends them.
type ChunkWriter struct {
	w   io.Writer
	buf []byte // 4 bytes for the length, then what is to go
}

// NewChunkWriter returns a writer to w, to which nobody else writes meanwhile.
func NewChunkWriter(w io.Writer) *ChunkWriter {
	return &ChunkWriter{w, make([]byte, 4, 4+maxChunk)}
}

// Write implements io.Writer.
func (c *ChunkWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), cap(c.buf)-len(c.buf))
		c.buf, p, n = append(c.buf, p[:k]...), p[k:], n+k
		if len(c.buf) == cap(c.buf) {
			if err := c.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush sends what is held back.
func (c *ChunkWriter) flush() error {
	if len(c.buf) == 4 {
		return nil
	}
	binary.BigEndian.PutUint32(c.buf, uint32(len(c.buf)-4))
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:4]
	return err
}

// Close writes what is buffered and the mark that all has been sent.
func (c *ChunkWriter) Close() error {
	return errors.Join(c.flush(), c.end(0))
}

// Abort writes the mark that the rest does not come.
func (c *ChunkWriter) Abort() error { return c.end(aborted) }

func (c *ChunkWriter) end(how uint32) error {
	_, err := c.w.Write(binary.BigEndian.AppendUint32(nil, how))
	return err
}

// ChunkReader reads one archive's chunks and not a byte more.
type ChunkReader struct {
	r    io.Reader
	left uint32 // of the current chunk
	err  error  // how it ended
}

// NewChunkReader returns a reader of the chunks that r brings next.
func NewChunkReader(r io.Reader) *ChunkReader { return &ChunkReader{r: r} }

// Read implements io.Reader; the end of the archive is io.EOF.
func (c *ChunkReader) Read(p []byte) (int, error) {
	for c.left == 0 && c.err == nil {
		c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(len(p), int(c.left))])
	c.left -= uint32(n)
	if err != nil {
		c.err = noEnd(err)
	}
	return n, c.err
}

func (c *ChunkReader) next() error {
	var length [4]byte
	if _, err := io.ReadFull(c.r, length[:]); err != nil {
		return noEnd(err)
	}
	switch n := binary.BigEndian.Uint32(length[:]); {
	case n == 0:
		return io.EOF
	case n == aborted:
		return errAborted
	case n > maxChunk:
		return fmt.Errorf("a chunk of %d bytes", n)
	default:
		c.left = n
		return nil
	}
}

// noEnd turns io.EOF into io.ErrUnexpectedEOF, where the end of the stream is not the archive's.
func noEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
