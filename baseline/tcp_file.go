// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
)

// fileWriter writes a flow to a file by pwrite(2) (then: write), from the message that it is
// received into. What does not fill a block yet waits there for what comes behind it: the device
// can read whole blocks there.
type fileWriter struct {
	out  *stream.Onward
	from int // of the message, what is not written
}

// write writes of what has come of a message as much as fills blocks, and all of it where nothing
// comes behind it; nil writes to none.
func (w *fileWriter) write(came []byte, all bool, m *stream.Meter) error {
	if w == nil {
		return nil
	}
	for w.from < len(came) {
		k, way := w.out.File.Next(w.from, len(came)-w.from)
		if way == disk.Short && !all {
			return nil
		}
		n, err := w.out.File.Write(came[w.from:w.from+k], way)
		m.Wait()
		if err != nil {
			return err
		}
		w.from += n
		w.out.Wrote(n, way)
	}
	if all {
		w.from = 0
	}
	return nil
}
