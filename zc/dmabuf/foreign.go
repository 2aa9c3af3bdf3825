// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Exporter returns the name of the driver that a descriptor's dmabuf is of; is is false for any other
// descriptor (dma_buf_show_fdinfo of drivers/dma-buf/dma-buf.c).
func Exporter(fd int) (name string, is bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "exp_name:"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// adopt checks a descriptor that another program made: that it is a dmabuf, of the size that was
// said.
func (m *Memory) adopt(what string) error {
	if _, is := Exporter(m.FD); !is {
		to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", m.FD))
		if err != nil {
			to = "unknown"
		}
		return notDMABuf(what, fmt.Sprintf("%.80q", to))
	}
	n, err := unix.Seek(m.FD, 0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s: lseek of the dmabuf: %w", what, err)
	}
	page := int64(os.Getpagesize())
	if m.Offset > n || m.Size > n-m.Offset || m.Offset%page != 0 || m.Size%page != 0 {
		return &fault.Error{Op: fmt.Sprintf("%s: %d bytes at %d, in a dmabuf of %d", what, m.Size, m.Offset, n),
			How: "hand over a dmabuf that has all of the memory, in whole pages"}
	}
	return nil
}
