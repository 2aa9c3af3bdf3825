// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of an experiment's text. What the parser needs grows with the square of the
// depth and of the number of keys: both are counted before it begins.
const (
	maxDepth  = 32     // lists and mappings inside each other; an experiment has 4
	maxKeys   = 5_000  // keys of mappings
	maxTokens = 30_000 // keys, values and signs
)

// checkTokens refuses a text that is too deep or too long, and what experiment files
// do not use, some of which means much in few words.
func checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return tooMuch(tokens[maxTokens], "more than %d keys, values and signs", maxTokens)
	}
	var n nesting
	keys := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return tooMuch(t, "an anchor or alias, which experiment files must not use")
		case token.TagType:
			return tooMuch(t, "a tag, which experiment files must not use")
		case token.MappingKeyType, token.MappingValueType:
			if keys++; keys > maxKeys {
				return tooMuch(t, "more than %d keys", maxKeys)
			}
		}
		if n.add(t); n.depth() > maxDepth {
			return tooMuch(t, "lists and mappings nested more than %d deep", maxDepth)
		}
	}
	return nil
}

func tooMuch(t *token.Token, format string, args ...any) error {
	line, column := position(t)
	return &Error{Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// nesting follows how deep a text is: brackets that are open, and before them the
// columns at which lists and mappings without brackets begin, of which an inner one
// is further right.
type nesting struct {
	open    []token.Type
	columns []int
}

func (n *nesting) depth() int { return len(n.open) + len(n.columns) }

func (n *nesting) add(t *token.Token) {
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.open = append(n.open, t.Type)
	case token.SequenceEndType:
		n.close(token.SequenceStartType)
	case token.MappingEndType:
		n.close(token.MappingStartType)
	case token.SequenceEntryType, token.MappingKeyType:
		n.block(t)
	case token.MappingValueType:
		if t.Prev != nil {
			n.block(t.Prev) // the key
		}
	case token.DocumentHeaderType, token.DocumentEndType:
		*n = nesting{}
	}
}

// close closes the last bracket, if it is of that type.
func (n *nesting) close(opener token.Type) {
	if last := len(n.open) - 1; last >= 0 && n.open[last] == opener {
		n.open = n.open[:last]
	}
}

func (n *nesting) block(t *token.Token) {
	if len(n.open) > 0 {
		return
	}
	_, column := position(t)
	for len(n.columns) > 0 && n.columns[len(n.columns)-1] > column {
		n.columns = n.columns[:len(n.columns)-1]
	}
	if len(n.columns) == 0 || n.columns[len(n.columns)-1] < column {
		n.columns = append(n.columns, column)
	}
}
