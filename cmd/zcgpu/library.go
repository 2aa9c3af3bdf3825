// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/zcbench/zcbench/internal/fault"
)

// sysroot is where /proc, /sys and /dev are.
var sysroot = "/"

// load loads a library and its functions. Those of optional may be missing: they stay nil.
func load(file string, functions, optional map[string]any, missing func(error) string) error {
	h, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return &fault.Error{Op: "dlopen " + file, Err: err, How: missing(err)}
	}
	for name, f := range functions {
		if _, err := purego.Dlsym(h, name); err != nil {
			return &fault.Error{Op: file + " has no " + name, How: "update the GPU's driver: the library is too old"}
		}
		purego.RegisterLibFunc(f, h, name)
	}
	for name, f := range optional {
		if _, err := purego.Dlsym(h, name); err == nil {
			purego.RegisterLibFunc(f, h, name)
		}
	}
	return nil
}

// there reports whether a file of the host is there.
func there(path string) bool {
	_, err := os.Stat(filepath.Join(sysroot, path))
	return err == nil
}

// content returns a file of the host; "" if it cannot be read.
func content(path string) string {
	b, _ := os.ReadFile(filepath.Join(sysroot, path))
	return strings.TrimSpace(string(b))
}

// call words a call of a library that returned a code other than 0.
type call struct {
	name string
	code int32
	text string // the library's name and words for the code
	how  string
}

func (c *call) Error() string { return fmt.Sprintf("%s: %s (%d)", c.name, c.text, c.code) }

// Fix advises what the user can do about it.
func (c *call) Fix() string { return c.how }
