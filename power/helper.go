// SPDX-License-Identifier: MIT

package power

import (
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/helper"
)

// NeedsNVMLHelper reports whether any of the sources is read by the helper,
// where nobody says where it is.
func NeedsNVMLHelper(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == "nvml" && s.Options.Get("helper") == "" })
}

// nvmlHelper finds the helper that reads a source.
func nvmlHelper(s Spec) (string, error) {
	if p := s.Options.Get("helper"); p != "" {
		return p, nil
	}
	p, err := helper.Find(helper.NVML)
	if p == "" && err == nil {
		err = helper.Missing(helper.NVML)
	}
	if err != nil {
		return p, &unavailable{err.Error(), fault.Fix(err)}
	}
	return p, nil
}
