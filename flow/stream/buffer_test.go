// SPDX-License-Identifier: MIT

package stream

import "testing"

func TestBufferOfAnySizeCloses(t *testing.T) {
	for _, n := range []int{1, 64, 4095, 4096, 4097, 1 << 20, 3<<20 + 5} {
		b, err := NewBuffer(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Bytes()) != n {
			t.Errorf("%d bytes of %d", len(b.Bytes()), n)
		}
		b.Bytes()[n-1] = 1
		for range 2 {
			if err := b.Close(); err != nil {
				t.Errorf("close a buffer of %d bytes: %v", n, err)
			}
		}
	}
}
