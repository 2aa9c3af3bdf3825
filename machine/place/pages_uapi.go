// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostPages is of how many pages of a memory it is asked where they are.
const mostPages = 512

// PageNodes samples on which NUMA nodes pages of mem are: how many of them by node, of a sample
// that is spread over it. Pages that are not present are on none. It asks by move_pages(2) without
// nodes, which moves nothing.
func PageNodes(mem []byte) (map[int]int, error) {
	page := unix.Getpagesize()
	n := len(mem) / page
	if n == 0 {
		return nil, nil
	}
	count := min(n, mostPages)
	pages, status := make([]unsafe.Pointer, count), make([]int32, count)
	for i := range pages {
		pages[i] = unsafe.Pointer(&mem[i*n/count*page])
	}
	_, _, errno := unix.Syscall6(unix.SYS_MOVE_PAGES, 0, uintptr(count), uintptr(unsafe.Pointer(&pages[0])), 0,
		uintptr(unsafe.Pointer(&status[0])), 0)
	if errno != 0 {
		return nil, fmt.Errorf("ask on which NUMA nodes memory is: move_pages: %w", errno)
	}
	nodes := map[int]int{}
	for _, s := range status {
		if s >= 0 { // else an error of that page: ENOENT, where there is none
			nodes[int(s)]++
		}
	}
	return nodes, nil
}
