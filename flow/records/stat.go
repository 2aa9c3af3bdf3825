// SPDX-License-Identifier: MIT

package records

import (
	"fmt"
	"strconv"
	"strings"
)

// mostStats bounds what a file is read for; Linux 7.3.4 has some 16.
const mostStats = 64

// ParseStat reads the text of /proc/net/tls_stat: a name and a number on each line.
func ParseStat(text string) (map[string]uint64, error) {
	all := map[string]uint64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 || len(all) == mostStats || !strings.HasPrefix(f[0], "Tls") || len(f[0]) > 40 {
			return nil, fmt.Errorf("parse tls_stat: %.60q is not a name of Tls with a number", line)
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse tls_stat: %.60q: %.40q is not a number", line, f[1])
		}
		all[f[0]] = n
	}
	return all, nil
}
