// SPDX-License-Identifier: MIT

package plaintext

import "strings"

// Word quotes a text so that a shell takes it for one word, unless it holds nothing that a shell
// acts on. Names from elsewhere stand so in commands that somebody may paste: an interface may be
// called $(reboot).
func Word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
