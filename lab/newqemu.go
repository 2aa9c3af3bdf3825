// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// emulator is a QEMU that runs from a folder, nothing installed; nil: the machine's own.
type emulator struct{ root string }

const emulatorProgram = "usr/bin/qemu-system-x86_64"

// emulatorEntry names a suite's QEMU in the cache, beside the toolchains: it is of the same kind,
// an unpacked Debian.
func emulatorEntry(suite string) string { return "qemu-" + suite }

// emulatorSpace is what one takes, with the archives that it is unpacked from.
const emulatorSpace = 300 << 20

// fetchEmulator returns the QEMU of a kernel's suite, from the cache. The first time it is fetched:
// 38 MB, 172 MB unpacked.
func fetchEmulator(ctx context.Context, o BuildOptions, suite string, log io.Writer) (*emulator, error) {
	c, unlock, err := lockedCache(ctx, o.Cache, log)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !c.has("toolchains", emulatorEntry(suite)) {
		if err := c.makeEmulator(ctx, suite, log); err != nil {
			return nil, err
		}
	}
	if err := c.checkTree("toolchains", emulatorEntry(suite)); err != nil {
		return nil, wrap("check the QEMU in the cache", err)
	}
	return &emulator{c.path("toolchains", emulatorEntry(suite))}, nil
}

func (c *cache) makeEmulator(ctx context.Context, suite string, log io.Writer) error {
	fmt.Fprintf(log, "lab: %s: fetching its QEMU, which knows devices outside of it (vfio-user): some 42 MB, "+
		"and the package lists\n", suite)
	if err := checkSpace(c.dir, emulatorSpace); err != nil {
		return &Error{"look for room for a QEMU", err, ""}
	}
	a, err := newApt(ctx, c, suite, log)
	if err != nil {
		return err
	}
	// No version of it is pinned, so the lists may be older than the archive.
	if err := a.update(ctx, log); err != nil {
		return &Error{"fetch the QEMU of " + suite, err,
			"check the network: this NIC needs it once, and others do without"}
	}
	a.prefer = true
	err = c.folder(func(tmp string) error {
		_, err := unpackRoot(ctx, a, tmp, []string{"qemu-system-x86"}, log)
		return err
	}, "toolchains", emulatorEntry(suite))
	return wrap("unpack the QEMU of "+suite, err)
}

// command returns the words that start it, before QEMU's arguments: with the C library and the
// firmware of its own folder.
func (e *emulator) command() []string {
	if e == nil {
		return []string{"qemu-system-x86_64"}
	}
	at := func(path string) string { return filepath.Join(e.root, path) }
	return []string{at("usr/lib64/ld-linux-x86-64.so.2"), "--library-path", at("usr/lib/x86_64-linux-gnu"),
		at(emulatorProgram), "-L", at("usr/share/qemu"), "-L", at("usr/share/seabios")}
}

// firmware returns where its smallest firmware may be.
func (e *emulator) firmware() []string {
	dirs := []string{"usr/share/qemu", "usr/share/seabios"}
	for i, d := range dirs {
		if e == nil {
			dirs[i] = "/" + d
		} else {
			dirs[i] = filepath.Join(e.root, d)
		}
	}
	return dirs
}
