// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"regexp"
	"strings"
)

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?(\+[0-9A-Za-z.]+)?$`)

// sortable rewrites a semantic version as dpkg and rpm order it: a pre-release comes before its
// release with ~, which semantic versioning writes -. What follows + orders as newer there.
func sortable(version string) (string, error) {
	if !semantic.MatchString(version) {
		return "", fmt.Errorf("%q is no version such as 0.1.0, 0.1.0-rc.1 or 0.1.0+5.g0123456789ab", version)
	}
	return strings.Replace(version, "-", "~", 1), nil
}
