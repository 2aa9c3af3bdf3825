// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// selftestPackages is what building the kernel's selftest programs takes:
// liburing for iou-zcrx; for ncdevmem Python, which generates the netlink code.
var selftestPackages = []string{
	"base-files", "bash", "binutils", "coreutils", "dash", "diffutils", "findutils", "gawk", "gcc", "grep",
	"libc6-dev", "liburing-dev", "make", "perl-base", "python3", "python3-jsonschema", "python3-yaml", "rsync", "sed",
}

// buildSelftests runs in the kernel's source at /mnt.
const buildSelftests = `set -e
cd /mnt
make headers
make -C tools/net/ynl GENS="ethtool netdev" RSTS="" libynl.a
cd tools/testing/selftests/drivers/net/hw
flags="-O2 -static -D_GNU_SOURCE= -I/mnt/usr/include -I/mnt/tools/include/uapi -I/mnt/tools/net/ynl/lib
-I/mnt/tools/net/ynl/generated -I/mnt/tools/testing/selftests"
gcc $flags -o /mnt/iou-zcrx iou-zcrx.c -luring
gcc $flags -o /mnt/ncdevmem ncdevmem.c /mnt/tools/net/ynl/libynl.a`

// Selftests builds the kernel's own zero-copy selftest programs, iou-zcrx and
// ncdevmem (tools/testing/selftests/drivers/net/hw), static, from the source
// package of the default kernel, and returns the folder that holds them. The
// source is 160 MB to fetch; the programs stay in the cache.
func Selftests(ctx context.Context, o BuildOptions, log io.Writer) (dir string, err error) {
	o.Kernels = Suites[:1]
	built, err := Build(ctx, o, log)
	if err != nil {
		return "", err
	}
	c, unlock, err := lockedCache(o.Cache)
	if err != nil {
		return "", err
	}
	defer unlock()
	release := built[0].Release
	if c.has("selftests", release) {
		return c.path("selftests", release), nil
	}
	a, err := newApt(ctx, c, built[0].Suite, log)
	if err != nil {
		return "", err
	}
	err = c.folder(func(tmp string) error {
		return makeSelftests(ctx, a, release, tmp, log)
	}, "selftests", release)
	return c.path("selftests", release), wrap("build the kernel's selftests", err)
}

func makeSelftests(ctx context.Context, a *apt, release, tmp string, log io.Writer) error {
	src, err := findSource(ctx, a, release)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "lab: fetching %s, %d MB\n", src.Name, src.Size/1e6)
	deb, err := a.download(ctx, src, tmp)
	if err != nil {
		return err
	}
	if err := unpackDeb(ctx, deb, filepath.Join(tmp, "x")); err != nil {
		return err
	}
	work := filepath.Join(tmp, "linux")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	tarball := filepath.Join(tmp, "x/usr/src", src.Name+".tar.xz")
	if out, err := exec.CommandContext(ctx, "tar", "-C", work, "--strip-components=1", "-xf", tarball).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, lastLines(string(out), 3))
	}
	root := filepath.Join(tmp, "root")
	fmt.Fprintf(log, "lab: fetching the compiler for the selftests\n")
	if _, err := unpackRoot(ctx, a, root, selftestPackages, log); err != nil {
		return err
	}
	fmt.Fprintf(log, "lab: building iou-zcrx and ncdevmem\n")
	var out bytes.Buffer
	if err := inRoot(ctx, root, work, &out, "/bin/bash", "-c", buildSelftests); err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(out.String(), 10))
	}
	for _, p := range []string{"iou-zcrx", "ncdevmem"} {
		if err := os.Rename(filepath.Join(work, p), filepath.Join(tmp, p)); err != nil {
			return err
		}
	}
	return keepOnly(tmp, "iou-zcrx", "ncdevmem")
}

// findSource is the package with the source of the kernel's series:
// linux-source-7.2 for 7.2.13+deb14-amd64.
func findSource(ctx context.Context, a *apt, release string) (debPackage, error) {
	f := strings.SplitN(release, ".", 3)
	if len(f) < 3 {
		return debPackage{}, fmt.Errorf("unexpected kernel release %q", release)
	}
	name := "linux-source-" + f[0] + "." + f[1]
	all, err := a.packages(ctx)
	if err != nil {
		return debPackage{}, err
	}
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
	}
	return debPackage{}, fmt.Errorf("%s has no package %s", a.suite, name)
}
