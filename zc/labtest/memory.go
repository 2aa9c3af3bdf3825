// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/handover"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// handsEnv makes the test binary a program that hands memory over.
const handsEnv = "ZCBENCH_TEST_HANDS_OVER"

// HandsOver makes a package's TestHandsOver the program of the word that [Hands] returns: it is no
// test.
func HandsOver(t *testing.T) {
	if os.Getenv(handsEnv) == "" {
		t.Skip("it is started by others")
	}
	os.Unsetenv(handsEnv)
	if err := handover.Serve(handover.FD, func(size int64) (*handover.Offer, error) {
		m, err := dmabuf.Make("heap", int(size))
		if err != nil {
			return nil, err
		}
		return &handover.Offer{DMABuf: m.FD, Size: m.Size, Copier: copying{m}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// copying copies from and to memory.
type copying struct{ *dmabuf.Memory }

func (c copying) ReadAt(p []byte, off int64) (int, error)  { return len(p), c.Read(off, p) }
func (c copying) WriteAt(p []byte, off int64) (int, error) { return len(p), c.Write(off, p) }

// Hands returns a word of the option area: memory that another program has made, and that this one
// does not map.
func Hands(t *testing.T) string {
	t.Setenv(handsEnv, "1")
	return "fd:/proc/self/exe -test.run=^TestHandsOver$"
}

// Sends makes a send path send from memory of such a word.
func Sends(open func(stream.Options) (stream.Sender, error), area string) func(stream.Options) (stream.Sender, error) {
	return func(o stream.Options) (stream.Sender, error) {
		o.TXArea = area
		return open(o)
	}
}

// Vgem returns the word for memory of the kernel's vgem, which the machine was started with.
func Vgem(t *testing.T) string {
	t.Helper()
	nodes, err := filepath.Glob("/dev/dri/card*")
	if err != nil || len(nodes) == 0 {
		t.Skip("needs zcbench lab up --load drm --load drm_kms_helper --load drm_shmem_helper --load vgem")
	}
	return "drm:" + nodes[0]
}

// DMABufs counts the dmabufs that there are, whoever has them (dma_buf_debug_show of
// drivers/dma-buf/dma-buf.c).
func DMABufs(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile("/sys/kernel/debug/dma_buf/bufinfo")
	if err != nil {
		t.Fatal(err)
	}
	last := max(strings.LastIndex(string(b), "\nTotal "), 0) // those before are of a dmabuf's devices
	if _, err := fmt.Sscanf(string(b[last:]), "\nTotal %d objects", &n); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return n
}

// AwaitDMABufs waits until there are no more than so many: the kernel lets go of a dead process's
// in its own time.
func AwaitDMABufs(t *testing.T, most int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("there are no more than %d dmabufs", most), func() bool { return DMABufs(t) <= most })
}
