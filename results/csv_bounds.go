// SPDX-License-Identifier: MIT

package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// Bounds of a file of figures and of a row, and so of each of its fields: csv.Reader takes one as
// long as the file goes on. Our rows have some thousand bytes, and 100,000 runs 400 MB. What rows
// become in memory is bounded as it is for a journal's lines: see [room].
const (
	mostTableBytes = 1 << 30
	mostRowBytes   = 1 << 20
)

// rowReader reads rows of bounded length.
type rowReader struct {
	*csv.Reader
	from *bounded
	line int  // that the next row begins on, but for empty lines
	room room // of the records
}

// bounded fails where more is read than may be.
type bounded struct {
	io.Reader
	read, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read >= mostTableBytes {
		return 0, fmt.Errorf("more than %d bytes of figures", mostTableBytes)
	}
	if b.read >= b.most {
		return 0, fmt.Errorf("a row of more than %d bytes: this is no file of figures", mostRowBytes)
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.most-b.read)])
	b.read += int64(n)
	return n, err
}

func newRowReader(r io.Reader) *rowReader {
	b := &bounded{Reader: r, most: mostRowBytes}
	c := &rowReader{Reader: csv.NewReader(withoutBOM(b)), from: b, line: 1}
	c.ReuseRecord = true
	return c
}

// Read reads the next row.
func (c *rowReader) Read() ([]string, error) {
	begin := c.InputOffset()
	c.from.most = min(begin+mostRowBytes, mostTableBytes)
	fields, err := c.Reader.Read()
	if err != nil {
		if c.from.read >= c.from.most {
			err = fmt.Errorf("line %d: %w", c.line, err)
		}
		return nil, err
	}
	last := len(fields) - 1
	c.line, _ = c.FieldPos(last)
	c.line += strings.Count(fields[last], "\n") + 1
	c.room.read += c.InputOffset() - begin
	c.room.taken += c.InputOffset() - begin
	return fields, nil
}
