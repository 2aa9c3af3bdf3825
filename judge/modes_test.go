// SPDX-License-Identifier: MIT

package judge

import _ "github.com/zcbench/zcbench/plan/modes" // those of the tests' cells
