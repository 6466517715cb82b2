package disk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
)

// ErrSpec says that a cipher specification cannot be read or is of something
// that this package does not have.
var ErrSpec = errors.New("unknown cipher specification")

// Spec is a cipher in the manner of dm-crypt, cipher-mode-iv.
type Spec struct {
	Cipher   string // "serpent"
	Mode     string // "xts", "cbc", "lrw", "ecb"
	IV       string // the iv generator: "plain64", "plain", "plain64be", "benbi", "essiv", "null"; empty for ecb
	IVOption string // the hash of essiv
}

// ParseSpec reads a specification of dm-crypt in one of its forms:
// "serpent-xts-plain64", "aes-cbc-essiv:sha256", "aes-plain" (cbc), "aes-ecb",
// "capi:xts(serpent)-plain64", "capi:essiv(cbc(aes),sha256)-plain64". The error
// matches ErrSpec.
func ParseSpec(s string) (Spec, error) {
	bad := func(why string) (Spec, error) {
		return Spec{}, fmt.Errorf("disk: cipher %q: %s; accepted are the like of aes-xts-plain64, aes-cbc-essiv:sha256 and capi:xts(aes)-plain64: %w", s, why, ErrSpec)
	}
	var p Spec
	var iv string
	if kernel, ok := strings.CutPrefix(s, "capi:"); ok {
		end := strings.LastIndexByte(kernel, ')')
		if end < 0 {
			return bad("capi: is followed by a mode and a cipher in parentheses")
		}
		n, err := algapi.ParseName(kernel[:end+1])
		if err != nil {
			return Spec{}, fmt.Errorf("disk: cipher %q: %w: %w", s, err, ErrSpec)
		}
		rest := kernel[end+1:]
		if rest != "" && rest[0] != '-' {
			return bad("behind the parentheses stands a hyphen and the iv")
		}
		iv = strings.TrimPrefix(rest, "-")
		essivHash := ""
		if n.Base == "essiv" {
			if len(n.Args) != 2 || len(n.Args[1].Args) != 0 {
				return bad("essiv takes a mode and a hash")
			}
			essivHash, n = n.Args[1].Base, n.Args[0]
		}
		if len(n.Args) != 1 || len(n.Args[0].Args) != 0 {
			return bad("there is one cipher in the parentheses")
		}
		p.Mode, p.Cipher = n.Base, n.Args[0].Base
		if essivHash != "" {
			if iv != "plain64" {
				return bad("the iv inside essiv is plain64")
			}
			iv = "essiv:" + essivHash
		}
	} else {
		parts := strings.Split(s, "-")
		switch len(parts) {
		case 1:
			p.Cipher, p.Mode, iv = s, "cbc", "plain"
		case 2:
			p.Cipher, p.Mode = parts[0], parts[1]
			switch p.Mode {
			case "ecb":
			case "plain": // of the first dm-crypt, that knew cbc alone
				p.Mode, iv = "cbc", "plain"
			default:
				return bad("the iv is missing")
			}
		case 3:
			p.Cipher, p.Mode, iv = parts[0], parts[1], parts[2]
		default:
			return bad("there are more than three parts")
		}
	}
	var colon bool
	p.IV, p.IVOption, colon = strings.Cut(iv, ":")
	switch {
	case p.Cipher == "" || p.Cipher == "capi" || strings.ContainsAny(p.Cipher, "():-/ "):
		return bad("the cipher's name is missing or wrong")
	case p.Mode == "" || strings.ContainsAny(p.Mode, "():,/ "):
		return bad("the mode's name is missing or wrong")
	case colon && p.IVOption == "":
		return bad("there is nothing behind the colon")
	case p.Mode == "ecb" && p.IV != "":
		return bad("ecb takes no iv")
	case p.Mode != "ecb" && p.IV == "":
		return bad("the iv is missing")
	case p.IV == "essiv" && p.IVOption == "":
		return bad("essiv needs a hash, as in essiv:sha256")
	case p.IV != "essiv" && p.IVOption != "":
		return bad("only essiv takes an option")
	}
	return p, nil
}

// String returns the specification in its common form, cipher-mode-iv.
func (p Spec) String() string {
	s := p.Cipher + "-" + p.Mode
	if p.IV != "" {
		s += "-" + p.IV
	}
	if p.IVOption != "" {
		s += ":" + p.IVOption
	}
	return s
}

// Alg returns the name of the mode in package nway: "xts(serpent)".
func (p Spec) Alg() string { return p.Mode + "(" + p.Cipher + ")" }

// ParseCascade reads the name of a cascade as TrueCrypt and VeraCrypt write it,
// "AES-Twofish-Serpent" or "AES(Twofish(Serpent))", and returns the ciphers in
// the order in which they encrypt, which is from last to first. One cipher is a
// cascade too. The error matches ErrSpec.
func ParseCascade(s string) ([]string, error) {
	flat := strings.TrimRight(s, ")")
	if n := len(s) - len(flat); n != strings.Count(flat, "(") || n > 0 && strings.Contains(flat, "-") {
		return nil, fmt.Errorf("disk: cascade %q: the parentheses do not match: %w", s, ErrSpec)
	}
	var l []string
	for _, c := range strings.FieldsFunc(strings.ToLower(flat), func(r rune) bool { return r == '(' || r == '-' }) {
		switch c {
		case "aes", "serpent", "twofish", "camellia":
			l = append([]string{c}, l...)
		default:
			return nil, fmt.Errorf("disk: cascade %q: cipher %q; accepted are AES, Serpent, Twofish and Camellia: %w", s, c, ErrSpec)
		}
	}
	if len(l) == 0 || len(l) > 3 || strings.Count(flat, "(")+strings.Count(flat, "-") != len(l)-1 {
		return nil, fmt.Errorf("disk: cascade %q; accepted are one to three ciphers, as in AES-Twofish-Serpent or AES(Twofish(Serpent)): %w", s, ErrSpec)
	}
	return l, nil
}

// Cascade is the inverse of ParseCascade: the common form of a cascade's name.
func Cascade(ciphers []string) string {
	names := map[string]string{"aes": "AES", "serpent": "Serpent", "twofish": "Twofish", "camellia": "Camellia"}
	s := ""
	for i := len(ciphers) - 1; i >= 0; i-- {
		if s != "" {
			s += "-"
		}
		s += names[ciphers[i]]
	}
	return s
}
