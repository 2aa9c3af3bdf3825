// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// drivers returns the files of Debian's own modules for a kernel, in the order
// of names. The package that holds all of them, 110 MB, is fetched when one is
// asked for the first time, and stays in the cache.
func drivers(ctx context.Context, o BuildOptions, b Built, names []string, log io.Writer) ([]string, error) {
	c, unlock, err := lockedCache(ctx, o.Cache, log)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !c.has("drivers", b.Release) {
		if err := c.fetchDrivers(ctx, b, log); err != nil {
			return nil, err
		}
	}
	if err := c.checkTree("drivers", b.Release); err != nil {
		return nil, wrap("check the kernel's modules", err)
	}
	return findDrivers(c.path("drivers", b.Release), names)
}

func (c *cache) fetchDrivers(ctx context.Context, b Built, log io.Writer) error {
	a, err := newApt(ctx, c, b.Suite, log)
	if err != nil {
		return err
	}
	all, err := a.packages(ctx)
	if err != nil {
		return err
	}
	name := "linux-modules-" + b.Release
	for _, p := range all {
		if p.Name != name {
			continue
		}
		fmt.Fprintf(log, "lab: %s: fetching %s, %d MB\n", b.Release, p.Name, p.Size/1e6)
		err := c.folder(func(tmp string) error {
			deb, err := a.download(ctx, p, tmp)
			if err != nil {
				return err
			}
			defer os.Remove(deb)
			return unpackDeb(ctx, deb, tmp)
		}, "drivers", b.Release)
		return wrap("unpack "+name, err)
	}
	return errorf("look for "+name, "zcbench lab build --refresh fetches the newest kernel",
		"Debian's package lists have none")
}

// findDrivers finds each module below dir; as for modprobe, - and _ are one.
func findDrivers(dir string, names []string) ([]string, error) {
	plain := func(s string) string { return strings.ReplaceAll(s, "-", "_") }
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(filepath.Base(p), ".ko"); ok {
			found[plain(name)] = p
		}
		return err
	})
	if err != nil {
		return nil, &Error{Op: "read the cache", Err: err}
	}
	var out []string
	for _, n := range names {
		p, ok := found[plain(n)]
		if !ok {
			return nil, inputf("look for the kernel's module "+n,
				"name modules without .ko, each after its dependencies", "not among the %d modules", len(found))
		}
		out = append(out, p)
	}
	return out, nil
}
