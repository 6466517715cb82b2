package algapi

import (
	"fmt"
	"strings"
)

// Limits of a name.
const (
	MaxNameLen = 127 // bytes
	MaxNesting = 8   // levels of parentheses
)

// Name is a parsed algorithm name: a cipher's or driver's own name, or a
// template with its arguments.
type Name struct {
	Base string
	Args []Name // nil for a plain name
}

// String returns the name in its canonical form, without any spaces.
func (n Name) String() string {
	if len(n.Args) == 0 {
		return n.Base
	}
	s := make([]string, len(n.Args))
	for i, a := range n.Args {
		s[i] = a.String()
	}
	return n.Base + "(" + strings.Join(s, ",") + ")"
}

// Cipher returns the innermost first argument: serpent of cts(cbc(serpent)).
func (n Name) Cipher() string {
	for len(n.Args) > 0 {
		n = n.Args[0]
	}
	return n.Base
}

// SyntaxError says what is wrong with a name, and where.
type SyntaxError struct {
	Name string
	Col  int // column, the first is 1
	Msg  string
}

func (e *SyntaxError) Error() string {
	name := e.Name
	if len(name) > 48 {
		name = name[:48] + "..."
	}
	return fmt.Sprintf("algapi: malformed name %q: column %d: %s", name, e.Col, e.Msg)
}

// ParseName parses names such as serpent, xts(serpent-generic) and
// essiv(cbc(aes),sha256). Names are letters, digits, '-' and '_'; arguments
// stand in parentheses behind a template's name, separated by single commas.
// Anything else is a *SyntaxError.
func ParseName(s string) (Name, error) {
	p := nameParser{s: s}
	if len(s) > MaxNameLen {
		return Name{}, p.fail(MaxNameLen, fmt.Sprintf("%d characters; accepted are up to %d", len(s), MaxNameLen))
	}
	n, err := p.name(0)
	if err != nil {
		return Name{}, err
	}
	if p.i < len(s) {
		if s[p.i] == ')' {
			return Name{}, p.fail(p.i, "unmatched ')'")
		}
		return Name{}, p.fail(p.i, "unexpected text behind the name")
	}
	return n, nil
}

type nameParser struct {
	s string
	i int
}

func (p *nameParser) fail(i int, msg string) error {
	return &SyntaxError{Name: p.s, Col: i + 1, Msg: msg}
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (p *nameParser) name(depth int) (Name, error) {
	start := p.i
	for p.i < len(p.s) && nameByte(p.s[p.i]) {
		p.i++
	}
	n := Name{Base: p.s[start:p.i]}
	if p.i == start {
		switch {
		case p.i == len(p.s):
			return n, p.fail(p.i, "a name is missing")
		case strings.IndexByte("(),", p.s[p.i]) >= 0:
			return n, p.fail(p.i, fmt.Sprintf("a name is missing before %q", p.s[p.i]))
		}
		return n, p.fail(p.i, fmt.Sprintf("character %q; accepted are letters, digits, '-' and '_'", p.s[p.i]))
	}
	if p.i == len(p.s) {
		return n, nil
	}
	if p.s[p.i] != '(' {
		if c := p.s[p.i]; c != ')' && c != ',' {
			return n, p.fail(p.i, fmt.Sprintf("character %q; accepted are letters, digits, '-' and '_'", c))
		}
		if depth == 0 && p.s[p.i] == ',' {
			return n, p.fail(p.i, "a comma outside parentheses")
		}
		return n, nil
	}
	if depth == MaxNesting {
		return n, p.fail(p.i, fmt.Sprintf("nested more than %d levels deep", MaxNesting))
	}
	open := p.i
	for {
		p.i++ // '(' or ','
		a, err := p.name(depth + 1)
		if err != nil {
			return n, err
		}
		n.Args = append(n.Args, a)
		if p.i == len(p.s) {
			return n, p.fail(open, "this '(' is never closed")
		}
		if p.s[p.i] == ')' {
			p.i++
			break
		}
		if p.s[p.i] != ',' {
			return n, p.fail(p.i, "unexpected text behind the name")
		}
	}
	if p.i < len(p.s) && p.s[p.i] != ')' && p.s[p.i] != ',' {
		return n, p.fail(p.i, "unexpected text behind ')'")
	}
	return n, nil
}
