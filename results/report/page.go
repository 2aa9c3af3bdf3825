// SPDX-License-Identifier: MIT

package report

import "html/template"

// PageStyle and PageScript are those of the report, for pages that look and act alike.
func PageStyle() template.CSS { return template.CSS("\n" + pageStyle) }

// PageScript returns the script that makes tables sortable.
func PageScript() template.JS { return template.JS("\n" + pageScript) }
