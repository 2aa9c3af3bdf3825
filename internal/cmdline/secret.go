// SPDX-License-Identifier: MIT

package cmdline

import (
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// What a secret is called: at the end of a variable's or flag's name, or before what says which
// of several it is. SSHPASS, KUBE_TOKEN, --http-password, AUTH_HEADER, DB_PASSWORD_2.
const called = `(token|password|passwd|passphrase|pass|pwd|secret|credentials?|auth|authorization|bearer|cookie|psk|` +
	`api[-_]?key|(access|secret|private|signing|auth|account)[-_]key)([-_]?(value|header|string|data|key|[0-9]+))?`

var (
	secretFlag     = lazy.Regexp(`(?i)^--?([a-z0-9_-]*[-_])?` + called + `(=|$)`)
	secretVariable = lazy.Regexp(`(?i)^(--[a-z-]+=|-e)?[a-z0-9_]*` + called + `=`) // --env=API_TOKEN=... of docker
	otherPass      = lazy.Regexp(`(?i)^[a-z0-9_]*(com|by|tres)pass=`)
	// secretURL has a user's password in it, or a token among its parameters.
	secretURL   = lazy.Regexp(`://[^/@]*:[^/@]*@`)
	secretQuery = lazy.Regexp(`(?i)://[^ ]*[?&;#]([a-z0-9_-]*[-_])?(` + called + `|sig|signature)=[^&]`)
	// secretHeader is one of HTTP, wherever the word begins.
	secretHeader = lazy.Regexp(`(?i)(^|["'\s=]|-H)((proxy-)?authorization|(set-)?cookie|([a-z0-9]+-)*(token|` +
		`api-?key|auth|secret|password)(-[a-z0-9]+)*)["']?\s*:\s*\S`)
	secretScheme = lazy.Regexp(`(?i)\b(bearer|basic)\s+[a-z0-9+/._~=-]{8,}`)
	// secretForm is what those who give tokens and keys have made known to be found by.
	secretForm = lazy.Regexp(`\b(gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20}|glpat-[A-Za-z0-9_-]{16}|` +
		`xox[abeprs]-[A-Za-z0-9-]{10}|` +
		`A[KS]IA[0-9A-Z]{16}|sk-[A-Za-z0-9_-]{20}|hf_[A-Za-z0-9]{20}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})|` +
		`-----BEGIN [A-Z ]*PRIVATE KEY`)
	secretPass = lazy.Regexp(`^pass:.`) // of openssl
	reference  = lazy.Regexp(`^(|[/~@$].*|\.\.?/.*|yes|no|on|off|true|false|none|ask|public)$`)
	operators  = lazy.Regexp("[;|&()<>`]+")
	separator  = lazy.Regexp(`^(\||\|\||&&|;)$`)
)

// letters are the flags of one letter (or, after a comma, of more) of programs that take a secret.
var letters = map[string]string{
	"sshpass": "p", "plink": ",pw", "pscp": ",pw",
	"ipmitool": "P,k,y", "ipmi-dcmi": "p", "ipmipower": "p", "ipmi-sensors": "p", "racadm": "p", "ipmiutil": "P",
	"snmpget": "c,A,X", "snmpgetnext": "c,A,X", "snmpwalk": "c,A,X", "snmpbulkget": "c,A,X", "snmpbulkwalk": "c,A,X",
	"snmpset": "c,A,X",
	"mysql":   "p", "mariadb": "p", "redis-cli": "a", "ldapsearch": "w", "mosquitto_sub": "P", "mosquitto_pub": "P",
}

// users are programs that take USER:PASSWORD, or USER%PASSWORD, by these flags.
var users = map[string][]string{
	"curl": {"-u", "-U", "--user", "--proxy-user"}, "http": {"-a", "--auth"}, "https": {"-a", "--auth"},
	"smbclient": {"-U", "--user"}, "rpcclient": {"-U", "--user"},
}

// Secret finds what looks like a secret among the words of a command, in scripts within them too:
// by the name of a flag, a variable or a header, by what a program takes, by the form of a token,
// in URLs. It says what that is (never the secret itself) and at which word, from 0; "": nothing.
// It cannot know all: commands are kept whole where they must be (the name of a host), and others
// see them in ps. Secrets belong into files, or into variables that the program inherits.
func Secret(words []string) (at int, what string) {
	program := ""
	for i, w := range words {
		if what := ofWord(w); what != "" {
			return i, what
		}
		base := filepath.Base(w[strings.LastIndexByte(w, '=')+1:]) // ProxyCommand=sshpass
		switch {
		case letters[base] != "" || users[base] != nil:
			program = base
		case separator().MatchString(w), program == "sshpass" && ends(words[:i], w):
			program = ""
		case ofProgram(program, words, i):
			return i, "what " + program + " takes for a password"
		}
		if strings.ContainsAny(w, " \t\n") {
			if _, what := Secret(inside(w)); what != "" {
				return i, what
			}
		}
	}
	return -1, ""
}

// SecretIn does what [Secret] does for a script of a shell.
func SecretIn(script string) (what string) {
	_, what = Secret([]string{script + " "})
	return what
}

// ofWord names what in a word looks like a secret.
func ofWord(w string) string {
	given := strings.TrimPrefix(w, "--env=") // docker exec --env=API_TOKEN=...
	name, value, _ := strings.Cut(given, "=")
	switch {
	case secretFlag().MatchString(w):
		return name
	case secretVariable().MatchString(given) && !otherPass().MatchString(given) && !reference().MatchString(value):
		return name
	case secretURL().MatchString(w):
		return "the password in a URL"
	case secretQuery().MatchString(w):
		return "a parameter of a URL"
	case secretHeader().MatchString(w), secretScheme().MatchString(w):
		return "a header"
	case secretForm().MatchString(w):
		return "a token or key"
	case secretPass().MatchString(w):
		return "pass:"
	}
	return ""
}

// ofProgram reports whether word i is, or is followed by, a secret by what its program takes.
func ofProgram(program string, words []string, i int) bool {
	next := func(flag string) (value string, ok bool) {
		if rest, joined := strings.CutPrefix(words[i], flag); joined && rest != "" {
			return strings.TrimPrefix(rest, "="), true
		}
		if words[i] == flag && i+1 < len(words) {
			return words[i+1], true
		}
		return "", false
	}
	for _, flag := range strings.Split(letters[program], ",") {
		if v, ok := next("-" + flag); flag != "" && ok && !reference().MatchString(v) {
			return true
		}
	}
	for _, flag := range users[program] {
		if v, ok := next(flag); ok && !reference().MatchString(v) {
			if at := strings.IndexAny(v, ":%"); at >= 0 && at < len(v)-1 {
				return true
			}
		}
	}
	return false
}

// ends reports whether a word is the program that sshpass starts, whose flags are no longer its
// own.
func ends(before []string, w string) bool {
	if strings.HasPrefix(w, "-") {
		return false
	}
	last := before[len(before)-1]
	return last != "-P" && last != "-f" && last != "-d"
}

// inside splits a script within a word into words, roughly: a quote ends nothing that matters here.
func inside(script string) []string {
	script = operators().ReplaceAllString(script, " ; ")
	return strings.Fields(strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(script))
}
