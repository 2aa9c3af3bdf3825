// SPDX-License-Identifier: MIT

package dmabuf

import (
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/hugepages"
)

var (
	pages = Provider{Name: Pages, Help: "the machine's base pages", Pages: ofProcess(uring.PagesBase)}
	// transparent: where the kernel has some to give.
	transparent = Provider{Name: "thp", Help: "transparent huge pages", Pages: ofProcess(uring.PagesTransparent)}
	// huge is what buffers longer than a page need.
	huge = Provider{Name: Huge, Help: "2 MiB pages of hugetlbfs", Pages: ofProcess(uring.PagesHuge),
		Open: func(_ string, size int) (*Memory, error) { return NewUdmabuf(inHugePages(size), HugePages) }}
)

// inHugePages rounds up to whole huge pages.
func inHugePages(size int) int { return hugepages.Pages(size) * hugepages.Size }

// ofProcess makes memory of this process in such pages.
func ofProcess(kind uring.Pages) func(size int) (*Memory, error) {
	return func(size int) (*Memory, error) {
		if kind == uring.PagesHuge {
			size = inHugePages(size)
		}
		mem, err := uring.NewMemory(size, kind)
		if err != nil {
			return nil, err
		}
		m := &Memory{FD: -1, Size: int64(size), Bytes: mem.Bytes(), Plain: true}
		m.Closes(mem.Close)
		return m, nil
	}
}
