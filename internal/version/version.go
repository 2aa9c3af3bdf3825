// SPDX-License-Identifier: MIT

// Package version says which build this is.
package version

import "runtime/debug"

// tool is set by the linker (-X) in release builds.
var tool string

// Module returns the version of a module that is built in; "" for one that is not.
func Module(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || path == "" {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

// Tool returns the version of zcbench: of the release, else the module version or the commit that
// it was built from, else "devel".
func Tool() string {
	if tool != "" {
		return tool
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
