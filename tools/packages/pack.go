// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// release counts the packages of one version.
const release = "1"

const description = `benchmark suite for zero-copy receive
zcbench answers, with evidence: on this NIC, kernel and CPU, which way of
receiving (and sending) TCP data gives the most throughput per core and per
watt (plain sockets, devmem TCP, io_uring zero copy), and was it really zero
copy? It drives both hosts, over ssh, restores every setting, and holds each
comparison against what its runs can show.`

// rpmArch are the names that rpm has for architectures.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// fileName builds the name that others give such a package.
func fileName(version, arch, format string) string {
	if format == "rpm" {
		return fmt.Sprintf("zcbench-%s-%s.%s.rpm", version, release, rpmArch[arch])
	}
	return fmt.Sprintf("zcbench_%s-%s_%s.deb", version, release, arch)
}

// config builds nfpm's configuration (nfpm.goreleaser.com/configuration). JSON is YAML.
func (j *job) config(arch, format, version string, entries []entry) map[string]any {
	c := map[string]any{
		"name": "zcbench", "arch": arch, "platform": "linux", "version": version, "version_schema": "none",
		"release": release,
		"section": "net", "priority": "optional", "maintainer": j.maintainer, "description": description,
		"homepage": "https://github.com/zcbench/zcbench", "license": "MIT AND GPL-2.0-only", "disable_globbing": true,
	}
	switch format {
	case "deb":
		// The helpers load libraries, and so are no static programs.
		c["depends"], c["recommends"], c["suggests"] = []string{"libc6"}, []string{"openssh-client"},
			[]string{"qemu-system-x86", "ethtool", "iproute2"}
	case "rpm":
		c["depends"], c["recommends"], c["suggests"] = []string{"libc.so.6" + rpmBits}, []string{"openssh-clients"},
			[]string{"qemu-kvm", "ethtool", "iproute"}
		c["rpm"] = map[string]any{"buildhost": "localhost", "summary": strings.SplitN(description, "\n", 2)[0],
			"compression": "zstd", "group": "Applications/System"}
	}
	var contents []map[string]any
	for _, e := range entries {
		one := map[string]any{"dst": e.dst, "file_info": map[string]any{"mode": e.mode, "owner": "root",
			"group": "root"}}
		if e.src != "" {
			one["src"] = e.src
		}
		if e.kind != "" {
			one["type"] = e.kind
		}
		contents = append(contents, one)
	}
	c["contents"] = contents
	return c
}

// rpmBits marks what both architectures need in 64 bits.
const rpmBits = "()(64bit)"

// pack makes a package and returns its path.
func (j *job) pack(arch, format, out string) (string, error) {
	version, err := sortable(j.version)
	if err != nil {
		return "", err
	}
	s, err := j.contents(arch, format)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(j.config(arch, format, version, s.entries), "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(j.work, format+"-"+arch+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", err
	}
	target := filepath.Join(out, fileName(version, arch, format))
	cmd := exec.Command(j.nfpm, "package", "--config", file, "--packager", format, "--target", target)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", j.built.Unix()))
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("nfpm: %s for %s: %w: %s", format, arch, err, strings.TrimSpace(string(said)))
	}
	return target, nil
}
