// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/hugepages"
)

// Huge pages that are on their way back, as those of a ring that was closed, are waited for.
func TestLabMemoryWaitsForHugePages(t *testing.T) {
	pool, err := hugepages.Read("/sys")
	if err != nil || pool.Available() < 2 || pool.Over > 0 {
		t.Skipf("needs free huge pages, and no surplus ones, as the lab has: %v, %v", pool, err)
	}
	const page = hugepages.Size
	first, err := NewMemory(pool.Available()*page, PagesHuge)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewMemory((pool.Total+1)*page, PagesHuge)
	if !errors.Is(err, unix.ENOMEM) || !strings.Contains(told(err), "reserve them: ") {
		t.Errorf("more than there are: %s", told(err))
	}
	back := make(chan error, 1)
	await.Later(300*time.Millisecond, func() { back <- first.Close() })
	second, err := NewMemory(2*page, PagesHuge)
	if err != nil {
		t.Errorf("they were given back meanwhile: %s", told(err))
	}
	if err := errors.Join(await.Chan(t, "the first memory's end", back), second.Close()); err != nil {
		t.Error(err)
	}
}
