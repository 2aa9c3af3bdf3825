// SPDX-License-Identifier: MIT

package report

import "html/template"

// PageStyle and PageScript are those of the report, for pages that look and act alike.
func PageStyle() template.CSS { return template.CSS("\n" + pageStyle) }

// PageScript is what makes tables sortable. It is the text of a script whose hash [ScriptHash]
// gives.
func PageScript() template.JS { return template.JS("\n" + pageScript) }

// ScriptHash is what a page's Content-Security-Policy names a script by.
func ScriptHash(script template.JS) string { return scriptHash(script) }
