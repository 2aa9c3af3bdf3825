// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// repeated is a text so many times, without the memory for it.
func repeated(text string, n int) io.Reader {
	rs := make([]io.Reader, n)
	for i := range rs {
		rs[i] = strings.NewReader(text)
	}
	return io.MultiReader(rs...)
}

// A field without end, in quotes and without, a row of many fields, and rows of which too much
// would become are refused, with the line, before they fill memory.
func TestTablesAreBounded(t *testing.T) {
	const head = "schema_version,run_id,cell_id,role,verdict,reason\n"
	kib, row := strings.Repeat("x", 1<<10), "1,r,c,sut,ok,\n"
	var runs strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&runs, "1,r%d,c,sut,ok,\n", i)
	}
	for name, x := range map[string]struct {
		rest io.Reader
		want string
	}{
		"field": {io.MultiReader(strings.NewReader(row+"1,r2,c,sut,ok,"), repeated(kib, 100<<10)),
			"line 3: a row of more than 1048576 bytes"},
		"quoted": {io.MultiReader(strings.NewReader(row+"\"1\n2\",r2,c,sut,ok,\""), repeated(kib+"\n", 100<<10)),
			"line 3: a row of more than"},
		"runs":   {strings.NewReader(runs.String()), "its runs would take more than 67 MiB"},
		"fields": {repeated("1,", 10<<20), "line 2: a row of more than"},
		"after more": {io.MultiReader(strings.NewReader("1,r,c,sut,ok,\"a\nb\"\n1,q,c,sut,ok,"), repeated(kib, 10<<10)),
			"line 4: a row of more than"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadRuns(io.MultiReader(strings.NewReader(head), x.rest))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %.200v, want %s", name, err, x.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
			t.Errorf("%s: %d MiB", name, n>>20)
		}
	}
}
