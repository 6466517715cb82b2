//go:build (!amd64 && !arm64) || purego

package gf128

import "github.com/seed-25a2b25a/nway/internal/forms"

var (
	ghashForms   = forms.New("ghash")
	polyvalForms = forms.New("polyval")
)

// powers is empty: there are only the portable forms, which keep their factor in
// the keys themselves.
type powers struct{}

// messageClasses would be lengths of messages that are prepared for in different
// ways.
var messageClasses []int

func (*powers) init(level, *[16]byte, int)       {}
func (*powers) ghash(level, *[16]byte, []byte)   { panic("unreachable") }
func (*powers) polyval(level, *[16]byte, []byte) { panic("unreachable") }
