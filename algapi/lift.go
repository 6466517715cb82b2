package algapi

import "github.com/seed-25a2b25a/nway/internal/alias"

func eachBlock(dst, src []byte, f func(dst, src []byte)) {
	alias.Blocks("algapi", dst, src)
	for i := 0; i < len(src); i += 16 {
		f(dst[i:i+16], src[i:i+16])
	}
}
