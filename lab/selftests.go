// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Debian's sid builds the kernel's selftests and runs them, whichever kernel they are
// of: iou-zcrx wants the newest liburing, and the Python tests the newest ethtool.
const selftestSuite = "sid"

// buildPackages is what building the selftest programs and their disk takes: liburing
// for iou-zcrx; for the netlink code that is generated, Python; for programs of eBPF,
// clang; for the disk, e2fsprogs and kmod.
var buildPackages = []string{
	"base-files", "bash", "binutils", "clang", "coreutils", "dash", "diffutils", "e2fsprogs", "findutils", "gawk",
	"gcc", "grep",
	"kmod", "libbpf-dev", "libc6-dev", "liburing-dev", "make", "perl-base", "python3", "python3-jsonschema",
	"python3-yaml", "rsync",
	"sed", "tar", "xz-utils",
}

// diskPackages is what the tests in Python run with.
var diskPackages = []string{
	"base-files", "bash", "bpftool", "coreutils", "dash", "ethtool", "findutils", "gawk", "grep", "hostname", "iperf3",
	"iproute2",
	"iputils-ping", "kmod", "libc-bin", "mount", "netbase", "procps", "python3", "python3-yaml", "sed", "socat",
	"tcpdump", "udev",
	"util-linux",
}

// diskModules are the folders of the kernel's modules that go onto the disk.
var diskModules = []string{"arch", "crypto", "drivers/net", "lib", "net"}

// buildSelftests runs in the toolchain, with what it needs at /mnt.
//
//go:embed selftests.sh
var buildSelftests string

// selftestSpace is what building the selftests takes while it lasts.
const selftestSpace = 3 << 30

// Names in the cache's entry of the selftests.
const (
	selftestDisk   = "disk.img"
	selftestRecipe = "recipe"
)

// selftestPrograms are the kernel's own zero-copy programs, static.
var selftestPrograms = []string{"iou-zcrx", "ncdevmem"}

// Selftests builds the kernel's own selftests from the source package of a kernel, by
// default of the default one, and returns the folder that holds them: the programs
// iou-zcrx and ncdevmem, static, and a disk with a Debian, the tests in Python of
// tools/testing/selftests/drivers/net and the programs that these start. To fetch are
// some 500 MB, once.
func Selftests(ctx context.Context, o BuildOptions, log io.Writer) (dir string, err error) {
	if len(o.Kernels) == 0 {
		o.Kernels = Suites[:1]
	}
	built, err := Build(ctx, o, log)
	if err != nil {
		return "", err
	}
	c, unlock, err := lockedCache(ctx, o.Cache, log)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir = c.path("selftests", built[0].Release)
	if c.hasSelftests(built[0].Release) {
		return dir, nil
	}
	if err := c.checkNeeds(ctx, work{fetch: true, compile: true, space: selftestSpace}, o.Install, log); err != nil {
		return "", err
	}
	if !c.has("drivers", built[0].Release) {
		if err := c.fetchDrivers(ctx, built[0], log); err != nil {
			return "", err
		}
	}
	if err := c.checkTree("drivers", built[0].Release); err != nil {
		return "", wrap("check the kernel's modules", err)
	}
	err = c.folder(func(tmp string) error {
		return (&kit{cache: c, of: built[0], tmp: tmp, log: log}).build(ctx)
	}, "selftests", built[0].Release)
	return dir, wrap("build the kernel's selftests", err)
}

// hasSelftests reports whether the cache holds the selftests of a kernel as this version
// builds them.
func (c *cache) hasSelftests(release string) bool {
	b, err := os.ReadFile(c.path("selftests", release, selftestRecipe))
	return err == nil && strings.TrimSpace(string(b)) == recipe()
}

// recipe hashes all that goes into building the selftests, to tell ways of building them apart.
func recipe() string {
	h := sha256.New()
	fmt.Fprintln(h, selftestSuite, buildPackages, diskPackages, diskModules, buildSelftests)
	return hex.EncodeToString(h.Sum(nil))
}

// kit builds the selftests of one kernel.
type kit struct {
	cache *cache
	of    Built
	tmp   string // of the cache's entry
	log   io.Writer
}

func (k *kit) say(format string, args ...any) {
	fmt.Fprintf(k.log, "lab: %s: "+format+"\n", append([]any{k.of.Release}, args...)...)
}

func (k *kit) build(ctx context.Context) error {
	work := filepath.Join(k.tmp, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	if err := k.source(ctx, work); err != nil {
		return err
	}
	root := filepath.Join(k.tmp, "root")
	if err := k.roots(ctx, root, filepath.Join(work, "image")); err != nil {
		return err
	}
	if err := k.modules(filepath.Join(work, "image/usr/lib/modules", k.of.Release, "kernel")); err != nil {
		return err
	}
	k.say("building the kernel's selftests and their disk")
	var out bytes.Buffer
	if err := inRoot(ctx, root, work, &out, "/bin/bash", "-c", buildSelftests, "build", k.of.Release); err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(out.String(), 10))
	}
	kept := append([]string{selftestDisk}, selftestPrograms...)
	for _, name := range kept {
		if err := os.Rename(filepath.Join(work, "out", name), filepath.Join(k.tmp, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(k.tmp, selftestRecipe), []byte(recipe()+"\n"), 0o644); err != nil {
		return err
	}
	return keepOnly(k.tmp, append(kept, selftestRecipe)...)
}

// source fetches the kernel's source, packed as it is, to a folder.
func (k *kit) source(ctx context.Context, dir string) error {
	a, err := newApt(ctx, k.cache, k.of.Suite, k.log)
	if err != nil {
		return err
	}
	if err := a.update(ctx, k.log); err != nil {
		return err
	}
	src, err := findSource(ctx, a, k.of.Release)
	if err != nil {
		return err
	}
	k.say("fetching %s, %d MB", src.Name, src.Size/1e6)
	deb, err := a.download(ctx, src, k.tmp)
	if err != nil {
		return err
	}
	x := filepath.Join(k.tmp, "x")
	if err := unpackDeb(ctx, deb, x); err != nil {
		return err
	}
	return os.Rename(filepath.Join(x, "usr/src", src.Name+".tar.xz"), filepath.Join(dir, "linux.tar.xz"))
}

// roots unpacks the Debian that builds, and the one that the disk gets.
func (k *kit) roots(ctx context.Context, toolchain, image string) error {
	a, err := newApt(ctx, k.cache, selftestSuite, k.log)
	if err != nil {
		return err
	}
	if err := a.update(ctx, k.log); err != nil {
		return err
	}
	for _, r := range []struct {
		dir, what string
		packages  []string
	}{{toolchain, "the compilers for the selftests", buildPackages}, {image, "Python and what the tests run",
		diskPackages}} {
		k.say("fetching %s", r.what)
		if err := os.Mkdir(r.dir, 0o755); err != nil {
			return err
		}
		if _, err := unpackRoot(ctx, a, r.dir, r.packages, k.log); err != nil {
			return err
		}
	}
	return nil
}

// modules copies the kernel's modules that the tests may ask for.
func (k *kit) modules(to string) error {
	from := k.cache.path("drivers", k.of.Release, "usr/lib/modules", k.of.Release, "kernel")
	for _, dir := range diskModules {
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(dir)), 0o755); err != nil {
			return err
		}
		err := os.CopyFS(filepath.Join(to, dir), os.DirFS(filepath.Join(from, dir)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// findSource finds the package with the source of the kernel's series: linux-source-7.2 for
// 7.2.13+deb14-amd64.
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
	return debPackage{}, fmt.Errorf("%s has no package %s: zcbench lab build --refresh fetches the newest kernel",
		a.suite, name)
}
