// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/driver"
)

func (f *facts) kernelFrom(version string) wire.Check {
	c := wire.Check{Status: "ok", Found: f.kernel}
	if version == "" {
		return c
	}
	c.Needed = "Linux " + version
	switch {
	case older(f.kernel, version) && driver.Upstream(f.kernel):
		c.Status, c.Fix = "lacking", "use Linux "+version+" or later"
	case older(f.kernel, version):
		c.Status, c.Found = "warn", f.kernel+", which may have parts of later ones: the attempt tells"
		c.Fix = "where the attempt fails, use Linux " + version + " or later"
	}
	return c
}

// older compares a release such as 6.1.0-13-amd64 with a version such as 6.15.
func older(release, version string) bool { return driver.Before(release, version) }

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

// others looks at memory that nobody needs who does not name it.
func (f *facts) others() (out []wire.Check) {
	for _, m := range f.memories {
		c := wire.Check{Name: "memory " + m.Name, Status: "ok", Found: m.Has}
		if m.Has == "" {
			c.Found = fmt.Sprintf("none: %s; for --area %s: %s", m.Why, m.Name, m.Fix)
		}
		out = append(out, c)
	}
	return out
}

func (f *facts) dmabuf() wire.Check {
	return answered(wire.Check{Found: "/dev/udmabuf", Needed: "memory behind a dmabuf", Command: "modprobe udmabuf"},
		f.udmabuf)
}
