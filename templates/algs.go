// Package templates lists the modes that come with the library.
package templates

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/templates/cbc"
	"github.com/seed-25a2b25a/nway/templates/ccm"
	"github.com/seed-25a2b25a/nway/templates/cfb"
	"github.com/seed-25a2b25a/nway/templates/cfb8"
	"github.com/seed-25a2b25a/nway/templates/cmac"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/cts"
	"github.com/seed-25a2b25a/nway/templates/eax"
	"github.com/seed-25a2b25a/nway/templates/ecb"
	"github.com/seed-25a2b25a/nway/templates/essiv"
	"github.com/seed-25a2b25a/nway/templates/gcm"
	"github.com/seed-25a2b25a/nway/templates/gcmsiv"
	"github.com/seed-25a2b25a/nway/templates/lrw"
	"github.com/seed-25a2b25a/nway/templates/ocb"
	"github.com/seed-25a2b25a/nway/templates/ofb"
	"github.com/seed-25a2b25a/nway/templates/siv"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// All returns every mode, one line each.
func All() []algapi.Template {
	return []algapi.Template{
		ecb.Template(),
		cbc.Template(),
		cts.Template(),
		cfb.Template(),
		cfb8.Template(),
		ofb.Template(),
		ctr.Template(),
		lrw.Template(),
		xts.Template(),
		essiv.Template(),
		gcm.Template(),
		ccm.Template(),
		eax.Template(),
		ocb.Template(),
		siv.Template(),
		gcmsiv.Template(),
		cmac.Template(),
	}
}
