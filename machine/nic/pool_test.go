// SPDX-License-Identifier: MIT

package nic

import "testing"

// A pool's queue is known by its provider and its NAPI instance, as far as the driver tells them;
// where two queues could be meant, it is not known.
func TestPoolQueue(t *testing.T) {
	const io, dma, none = ProviderIOUring, ProviderDMABuf, -1
	linked := []Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 102, Provider: io}, {ID: 2, NAPI: 103, Provider: io},
		{ID: 3, NAPI: 104, Provider: dma, DMABuf: 7}}
	bare := []Queue{{ID: 0}, {ID: 1}, {ID: 2, Provider: io}}
	two := []Queue{{ID: 0}, {ID: 1, Provider: io}, {ID: 2, Provider: io}, {ID: 3, Provider: dma, DMABuf: 7},
		{ID: 4, Provider: dma, DMABuf: 8}}
	shared := []Queue{{ID: 0, NAPI: 101}, {ID: 1, NAPI: 102, Provider: io}, {ID: 2, NAPI: 101, Provider: io},
		{ID: 3, NAPI: 102, Provider: io}}
	for name, x := range map[string]struct {
		of   []Queue
		pool PagePool
		want int
	}{
		"its provider's and NAPI's":            {linked, PagePool{NAPI: 103, Provider: io}, 2},
		"its NAPI's, for headers":              {linked, PagePool{NAPI: 103}, 2},
		"the binding's":                        {linked, PagePool{Provider: dma, DMABuf: 7}, 3},
		"of another NAPI":                      {linked, PagePool{NAPI: 105, Provider: io}, none},
		"of no NAPI, and two have its kind":    {linked, PagePool{Provider: io}, none},
		"of neither":                           {linked, PagePool{}, none},
		"queues without NAPI":                  {bare, PagePool{NAPI: 103, Provider: io}, 2},
		"neither has one":                      {bare, PagePool{Provider: io}, 2},
		"the kernel's memory":                  {bare, PagePool{NAPI: 103}, none},
		"nothing at all is not the first":      {bare, PagePool{}, none},
		"two queues without NAPI":              {two, PagePool{NAPI: 103, Provider: io}, none},
		"two bindings":                         {two, PagePool{NAPI: 103, Provider: dma, DMABuf: 8}, 4},
		"a shared NAPI, told by the provider":  {shared, PagePool{NAPI: 101, Provider: io}, 2},
		"a shared NAPI, both have such memory": {shared, PagePool{NAPI: 102, Provider: io}, none},
		"a shared NAPI, the kernel's memory":   {shared, PagePool{NAPI: 101}, none},
	} {
		id, ok := x.pool.Queue(x.of)
		if ok != (x.want != none) || ok && id != x.want {
			t.Errorf("%s: queue %d, %v; want %d", name, id, ok, x.want)
		}
	}
}
