// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// One word in dmabuf.All adds memory: options take it and complete it, cells have it where it fits,
// it is made, and the doctor looks for it.
func TestOneLineAddsMemory(t *testing.T) {
	cell := plan.Cell{RX: "devmem", TX: "devmem", Area: "npu:1", TXArea: "npu"}
	if cell.Check() == nil {
		t.Fatal("before it is there")
	}
	before := dmabuf.All
	defer func() { dmabuf.All = before }()
	made := 0
	dmabuf.All = append(before[:len(before):len(before)], dmabuf.Provider{Name: "npu", Arg: "[:N]", Help: "an NPU's",
		Check: func(arg string) error {
			if strings.Trim(arg, "0123456789") != "" {
				return errors.New("not a number")
			}
			return nil
		},
		Open: func(string, int) (*dmabuf.Memory, error) { made++; return &dmabuf.Memory{FD: -1}, nil },
		Have: func() (string, error) { return "", &fault.Error{Op: "no NPU", How: "buy one"} }})

	if err := cell.Check(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"area", "tx_area"} {
		o, c := plan.LookupOption(name), plan.Cell{}
		if o.Set(&c, "npu:2") != nil || o.Set(&c, "npu:x") == nil || !slices.Contains(o.Choices(), "npu") {
			t.Errorf("%s: %v", name, o.Choices())
		}
		if err := o.Set(&c, "nqu"); err == nil || !strings.Contains(err.Error(), "did you mean npu?") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := dmabuf.Make("npu:1", 4096); err != nil || made != 1 {
		t.Errorf("made %d, %v", made, err)
	}
	if !slices.Contains(dmabuf.Words(nil), "npu[:N]") {
		t.Error("help has no word of it")
	}
	f := good("bnxt_en")
	f.memories = dmabuf.Look()
	if c := find(t, f, "devmem", "memory npu"); c.Found != "none: no NPU; for --area npu: buy one" {
		t.Errorf("%+v", c)
	}
}
