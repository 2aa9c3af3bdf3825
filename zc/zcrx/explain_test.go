// SPDX-License-Identifier: MIT

package zcrx

import (
	"testing"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// An exporter may be what refuses, also one that does not say where its memory is: of the kernel's
// own memory it is the NIC.
func TestForeignAreas(t *testing.T) {
	for _, c := range []struct {
		kind, place string
		fd, bufLen  int
		want        bool
	}{
		{"fd:hand-over", "", 7, 0, true}, {"drm:/dev/dri/card0", "", 7, 0, true}, {"cuda", "0000:41:00.0", 7, 0, true},
		{"cuda", "0000:41:00.0", 7, 8192, true}, {"fd:hand-over", "", 7, 8192, false}, {"pages", "", -1, 0, false},
		{"udmabuf", "", 7, 0, false}, {"huge", "", 7, 0, false},
		{"heap:reserved", "", 7, 0, false}, {"heap", "", 7, 0, false},
	} {
		a := &area{kind: c.kind, Memory: &dmabuf.Memory{FD: c.fd, Place: c.place}}
		if got := a.foreign(uring.ZcrxOptions{BufLen: c.bufLen}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
