// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"

	"github.com/zcbench/zcbench/bench/wire"
)

func (f *facts) kernelFrom(version string) wire.Check {
	c := wire.Check{Status: "ok", Found: f.kernel}
	if version == "" {
		return c
	}
	if c.Needed = "Linux " + version; older(f.kernel, version) {
		c.Status, c.Fix = "lacking", "use Linux "+version+" or later"
	}
	return c
}

// older compares a release such as 6.1.0-13-amd64 with a version such as 6.15.
func older(release, version string) bool {
	var a, b, c, d int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n < 2 {
		return false // unknown
	}
	fmt.Sscanf(version, "%d.%d", &c, &d)
	return a < c || a == c && b < d
}

func (f *facts) capable() wire.Check {
	c := f.caps
	if c.Status == "warn" {
		c.Status, c.Errno = "lacking", "EPERM"
	}
	return c
}

func (f *facts) locked() wire.Check        { return f.lock }
func (f *facts) hugePages() wire.Check     { return f.huge }
func (f *facts) notifications() wire.Check { return f.optmem }

func (f *facts) dmabuf() wire.Check {
	return answered(wire.Check{Found: "/dev/udmabuf", Needed: "memory behind a dmabuf", Command: "modprobe udmabuf"}, f.udmabuf)
}
