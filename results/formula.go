// SPDX-License-Identifier: MIT

package results

import (
	"strconv"
	"strings"
)

// A spreadsheet runs what begins like a formula, and =HYPERLINK or a DDE link in a text
// from a far host would send the reader's data away or start a program. So such texts
// stand behind a single quote, which spreadsheets take for "this is text", and which
// reading takes off again. So does what follows a semicolon, which begins another field where
// the semicolon separates them: in much of Europe, and in LibreOffice unless it is told otherwise.
// Numbers are left alone: they may begin with a minus.

// formulaSigns begin a formula in some spreadsheet; the wide ones where East Asian text is
// typed.
const formulaSigns = "=+-@＝＋－＠"

// isFormula reports whether a spreadsheet might calculate s, or a text that asText would
// make of such a one. Tab and carriage return, which some skip, are spaces by now.
func isFormula(s string) bool {
	if s == "" || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z' {
		return false // as most do
	}
	s = strings.TrimLeft(s, "' ")
	if s == "" || !strings.ContainsRune(formulaSigns, firstRune(s)) {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil
}

func firstRune(s string) rune {
	for _, c := range s {
		return c
	}
	return 0
}

// asText makes a text safe to open in a spreadsheet.
func asText(s string) string {
	return inFields(s, func(part string) string {
		if isFormula(part) {
			return "'" + part
		}
		return part
	})
}

// asIs takes off what asText has added, and nothing else.
func asIs(s string) string {
	return inFields(s, func(part string) string {
		if strings.HasPrefix(part, "'") && isFormula(part) {
			return part[1:]
		}
		return part
	})
}

// inFields changes what semicolons part.
func inFields(s string, change func(string) string) string {
	if !strings.Contains(s, ";") {
		return change(s)
	}
	parts := strings.Split(s, ";")
	for i := range parts {
		parts[i] = change(parts[i])
	}
	return strings.Join(parts, ";")
}

// CSVText makes a text a field of a CSV file: on one line, with nothing in it that a terminal obeys
// or a spreadsheet runs.
func CSVText(s string) string { return asText(oneLine(s)) }
