// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/helper"
)

// NeedsNVMLHelper reports whether any of the sources is read by the helper,
// where nobody says where it is.
func NeedsNVMLHelper(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == "nvml" && s.Options.Get("helper") == "" })
}

// nvmlHelper returns the program that reads a source, by its path. Ours is opened: what was checked
// is what runs, where it has that file as descriptor 3. One that the user names is run as it is
// named.
func nvmlHelper(s Spec) (path string, program *os.File, err error) {
	if p := s.Options.Get("helper"); p != "" {
		return p, nil, nil
	}
	f, err := helper.Open(helper.NVML)
	if err != nil {
		return "", nil, &unavailable{err.Error(), fault.Fix(err)}
	}
	return "/proc/self/fd/3", f, nil
}
