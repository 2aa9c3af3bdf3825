// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// softnicSources is the kernel module's source, part of the binary so that the
// lab can be built without a checkout.
//
//go:embed softnic/LICENSE softnic/Kbuild softnic/*.c softnic/*.h
var softnicSources embed.FS

// moduleKey names the build of these sources for one kernel.
func moduleKey(release string) string {
	h := sha256.New()
	// WalkDir visits in lexical order, so the hash is stable.
	fs.WalkDir(softnicSources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := softnicSources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(b))
		h.Write(b)
		return err
	})
	return release + "-" + hex.EncodeToString(h.Sum(nil))[:12]
}

// makeModule builds softnic.ko for k unless these very sources were built.
func (c *cache) makeModule(ctx context.Context, k *kernel, log io.Writer) error {
	key := moduleKey(k.Release)
	if c.has("modules", key) {
		return nil
	}
	if err := c.checkTree("toolchains", k.toolchain()); err != nil {
		return wrap("check the module toolchain", err)
	}
	fmt.Fprintf(log, "lab: %s: building softnic.ko\n", k.Release)
	err := c.folder(func(tmp string) error {
		if err := writeSources(tmp); err != nil {
			return err
		}
		var out bytes.Buffer
		err := inRoot(ctx, c.path("toolchains", k.toolchain()), tmp, &out,
			"make", "-C", "/usr/src/linux-headers-"+k.Release, "M=/mnt", "modules")
		if err != nil {
			fix := ""
			if !strings.Contains(out.String(), "make: ") { // it never got there
				fix = "entering the toolchain needs root, or unprivileged user namespaces"
			}
			return &Error{"build softnic.ko for " + k.Release, fmt.Errorf("%w:\n%s", err, out.String()), fix}
		}
		if i := strings.Index(out.String(), "warning:"); i >= 0 {
			fmt.Fprintf(log, "lab: the compiler warned:\n%s", out.String())
		}
		return keepOnly(tmp, "softnic.ko")
	}, "modules", key)
	return wrap("build softnic.ko", err)
}

func writeSources(dir string) error {
	names, err := fs.Glob(softnicSources, "softnic/*")
	if err != nil {
		return err
	}
	for _, n := range names {
		b, err := softnicSources.ReadFile(n)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(n)), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// keepOnly removes everything else from dir.
func keepOnly(dir string, names ...string) error {
	for _, n := range names {
		if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
			return err
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if slices.Contains(names, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
