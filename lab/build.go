// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Suites are the Debian suites whose newest kernel the lab knows; the first is
// the default.
var Suites = []string{"sid", "trixie-backports"}

// kernel is what set-up resolved for one suite: an entry of lock.json.
type kernel struct {
	Suite     string     `json:"suite"`
	Release   string     `json:"release"`             // uname -r: "7.2.13+deb14-amd64"
	Image     debPackage `json:"image"`               // the package with vmlinuz
	Toolchain []string   `json:"toolchain,omitempty"` // the archives the module toolchain was unpacked from
	Resolved  time.Time  `json:"resolved"`
}

func (k *kernel) toolchain() string { return k.Suite + "-" + k.Release }

// lockFile is lock.json: the versions that this cache holds or will fetch.
type lockFile struct {
	Kernels []*kernel `json:"kernels"`
}

func (l *lockFile) find(suite string) *kernel {
	for _, k := range l.Kernels {
		if k.Suite == suite {
			return k
		}
	}
	return nil
}

// BuildOptions says what to prepare. The zero value prepares the default
// kernel in the default cache.
type BuildOptions struct {
	Cache   string   // folder; empty: zcbench/lab under the user's cache folder
	Kernels []string // suites or prefixes of a release; "all" for every suite; empty: the default suite
	Refresh bool     // resolve the newest versions again
	Install bool     // as root: install the packages that the lab needs
}

// Built is one kernel that is ready to boot.
type Built struct {
	Suite, Release string
	Vmlinuz        string // path of the kernel image
	Vmlinux        string // path of the unpacked kernel; empty: there is none
	Module         string // path of softnic.ko
}

// Build makes the kernels ready to boot. What the cache holds is used without
// any network; a second call takes milliseconds. Progress goes to log.
func Build(ctx context.Context, o BuildOptions, log io.Writer) ([]Built, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, errorf("check the machine", "use an x86-64 Linux machine", "the lab does not support %s/%s",
			runtime.GOOS, runtime.GOARCH)
	}
	c, unlock, err := lockedCache(ctx, o.Cache, log)
	if err != nil {
		return nil, err
	}
	defer unlock()
	lf, err := c.readLock()
	if err != nil {
		return nil, &Error{"read the cache", err, "remove that file"}
	}
	suites, err := pick(o.Kernels, lf)
	if err != nil {
		return nil, err
	}
	if err := c.checkNeeds(ctx, c.workFor(suites, lf, o.Refresh), o.Install, log); err != nil {
		return nil, err
	}
	var built []Built
	for _, s := range suites {
		b, err := c.build(ctx, s, lf, o.Refresh, log)
		if err != nil {
			return nil, err
		}
		built = append(built, b)
	}
	if o.Refresh {
		c.prune(lf)
		for _, s := range suites { // the newest is fetched when it is wanted
			os.RemoveAll(c.path("toolchains", emulatorEntry(s)))
		}
	}
	return built, nil
}

// checkNeeds looks for everything before anything is fetched, and installs what is
// missing if it is to.
func (c *cache) checkNeeds(ctx context.Context, w work, install bool, log io.Writer) error {
	n := w.check(ctx, c.dir)
	if install && len(n.packages) > 0 {
		if err := n.install(ctx, log); err != nil {
			return err
		}
		n = w.check(ctx, c.dir)
	}
	return n.err()
}

// readLock reads lock.json, whose words become paths and arguments.
func (c *cache) readLock() (*lockFile, error) {
	lf := &lockFile{}
	if err := c.readJSON(lf, "lock.json"); err != nil {
		return nil, err
	}
	for i, k := range lf.Kernels {
		if k == nil || !packageName().MatchString(k.Suite) || !kernelRelease().MatchString(k.Release) {
			return nil, fmt.Errorf("%s: kernel %d has a bad suite or release", c.path("lock.json"), i+1)
		}
	}
	return lf, nil
}

// entry is a kind of folder in the cache, one for each kernel: how it is named, and
// what every name of the kind looks like.
type entry struct {
	dir   string
	name  func(*kernel) string
	names *regexp.Regexp
}

var entries = sync.OnceValue(func() []entry {
	release := strings.Trim(kernelRelease().String(), "^$")
	names := func(format string) *regexp.Regexp { return regexp.MustCompile(fmt.Sprintf("^"+format+"$", release)) }
	plain := func(k *kernel) string { return k.Release }
	return []entry{
		{"kernels", plain, names("%s")},
		{"toolchains", (*kernel).toolchain, names("[a-z-]+-%s")},
		{"modules", func(k *kernel) string { return moduleKey(k.Release) }, names("%s-[0-9a-f]{12}")},
		{"selftests", plain, names("%s")},
		{"drivers", plain, names("%s")},
	}
})

// prune removes kernels, toolchains and modules that lock.json no longer names,
// and nothing that does not have the name of one.
func (c *cache) prune(lf *lockFile) {
	for _, e := range entries() {
		all, _ := os.ReadDir(c.path(e.dir))
		for _, d := range all {
			inUse := slices.ContainsFunc(lf.Kernels, func(k *kernel) bool { return e.name(k) == d.Name() })
			if !inUse && e.names.MatchString(d.Name()) {
				os.RemoveAll(c.path(e.dir, d.Name()))
			}
		}
	}
}

// pick turns the user's words for kernels into suites.
func pick(words []string, lf *lockFile) ([]string, error) {
	var suites []string
	if len(words) == 0 {
		words = Suites[:1]
	}
	for _, w := range words {
		if w == "all" {
			suites = append(suites, Suites...)
			continue
		}
		s, err := suiteOf(w, lf)
		if err != nil {
			return nil, err
		}
		suites = append(suites, s)
	}
	slices.Sort(suites)
	return slices.Compact(suites), nil
}

func suiteOf(word string, lf *lockFile) (string, error) {
	if slices.Contains(Suites, word) {
		return word, nil
	}
	var known []string
	for _, k := range lf.Kernels {
		if strings.HasPrefix(k.Release, word) {
			return k.Suite, nil
		}
		known = append(known, k.Release)
	}
	return "", inputf("choose kernel "+word, fmt.Sprintf("say one of %s, or a prefix of a release in the cache (%s)",
		strings.Join(Suites, ", "), strings.Join(known, ", ")), "not known")
}

// build brings one suite's kernel from whatever state the cache is in to
// ready. Only steps that are missing need apt.
func (c *cache) build(ctx context.Context, suite string, lf *lockFile, refresh bool, log io.Writer) (Built, error) {
	k := lf.find(suite)
	var a *apt
	need := k == nil || refresh || !c.has("kernels", k.Release) ||
		(!c.has("toolchains", k.toolchain()) && !c.has("modules", moduleKey(k.Release)))
	if need {
		var err error
		if a, err = newApt(ctx, c, suite, log); err != nil {
			return Built{}, err
		}
		if k, err = c.resolve(ctx, a, lf, log); err != nil {
			return Built{}, err
		}
		if err := c.makeKernel(ctx, a, k, log); err != nil {
			return Built{}, err
		}
		if err := c.makeToolchain(ctx, a, k, log); err != nil {
			return Built{}, err
		}
		if err := c.writeJSON(lf, "lock.json"); err != nil {
			return Built{}, &Error{Op: "write lock.json", Err: err}
		}
	}
	if err := c.makeModule(ctx, k, log); err != nil {
		return Built{}, err
	}
	return Built{suite, k.Release, c.path("kernels", k.Release, "vmlinuz"), c.makeVmlinux(k.Release, log),
		c.path("modules", moduleKey(k.Release), "softnic.ko")}, nil
}

// resolve asks Debian for the suite's newest kernel and enters it into the
// lock file. The package lists are fetched again: an archive drops the files of
// superseded versions, so old lists lead to downloads that fail.
func (c *cache) resolve(ctx context.Context, a *apt, lf *lockFile, log io.Writer) (*kernel, error) {
	fmt.Fprintf(log, "lab: %s: looking for the newest kernel\n", a.suite)
	if err := a.update(ctx, log); err != nil {
		return nil, err
	}
	all, err := a.packages(ctx)
	if err != nil {
		return nil, err
	}
	release, image, err := newestKernel(all)
	if err != nil {
		return nil, &Error{Op: "choose a kernel of " + a.suite, Err: err}
	}
	if k := lf.find(a.suite); k != nil && k.Release == release && k.Image == image {
		return k, nil
	}
	fmt.Fprintf(log, "lab: %s: newest kernel is %s\n", a.suite, release)
	k := &kernel{Suite: a.suite, Release: release, Image: image, Resolved: time.Now().UTC().Truncate(time.Second)}
	lf.Kernels = slices.DeleteFunc(lf.Kernels, func(old *kernel) bool { return old.Suite == a.suite })
	lf.Kernels = append(lf.Kernels, k)
	return k, nil
}

// makeKernel fetches the kernel image.
func (c *cache) makeKernel(ctx context.Context, a *apt, k *kernel, log io.Writer) error {
	if c.has("kernels", k.Release) {
		return nil
	}
	fmt.Fprintf(log, "lab: %s: fetching %s, %d MB\n", k.Release, k.Image.Name, k.Image.Size/1e6)
	err := c.folder(func(tmp string) error {
		deb, err := a.download(ctx, k.Image, tmp)
		if err != nil {
			return err
		}
		if err := unpackDeb(ctx, deb, filepath.Join(tmp, "x")); err != nil {
			return err
		}
		return takeVmlinuz(tmp, k.Release)
	}, "kernels", k.Release)
	return wrap("unpack "+k.Image.Name, err)
}
