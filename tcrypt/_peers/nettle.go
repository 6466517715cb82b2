//go:build !nonettle

package main

/*
#cgo pkg-config: nettle
#include <nettle/aes.h>
#include <nettle/camellia.h>
#include <nettle/cbc.h>
#include <nettle/ccm.h>
#include <nettle/ctr.h>
#include <nettle/eax.h>
#include <nettle/gcm.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <nettle/serpent.h>
#include <nettle/twofish.h>
#include <nettle/version.h>
#include <nettle/xts.h>
#include <stdlib.h>
#include "peers.h"

// The table code behind aes128_encrypt and so on, on CPUs that have no AES
// instructions. It is exported for the library's own tests, in builds that
// choose at run time.
typedef void table_func(const void *ctx, size_t length, uint8_t *dst, const uint8_t *src);
extern table_func _nettle_aes128_encrypt_c __attribute__((weak));
extern table_func _nettle_aes128_decrypt_c __attribute__((weak));
extern table_func _nettle_aes192_encrypt_c __attribute__((weak));
extern table_func _nettle_aes192_decrypt_c __attribute__((weak));
extern table_func _nettle_aes256_encrypt_c __attribute__((weak));
extern table_func _nettle_aes256_decrypt_c __attribute__((weak));

struct cipher {
	int mode, decrypt, aes_bits;
	nettle_cipher_func *crypt;      // of the data
	nettle_cipher_func *encrypt;    // of the tweak
	void *ctx, *tweak;
	union {
		struct gcm_key gcm;
		struct eax_key eax;
	} key;
};

static const struct nettle_cipher *find(const char *cipher, int bits) {
	static const struct { const char *cipher; int bits; const struct nettle_cipher *c; } all[] = {
		{"aes", 128, &nettle_aes128}, {"aes", 192, &nettle_aes192}, {"aes", 256, &nettle_aes256},
		{"camellia", 128, &nettle_camellia128}, {"camellia", 192, &nettle_camellia192}, {"camellia", 256, &nettle_camellia256},
		{"serpent", 128, &nettle_serpent128}, {"serpent", 192, &nettle_serpent192}, {"serpent", 256, &nettle_serpent256},
		{"twofish", 128, &nettle_twofish128}, {"twofish", 192, &nettle_twofish192}, {"twofish", 256, &nettle_twofish256},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].cipher, cipher) && all[i].bits == bits)
			return all[i].c;
	return NULL;
}

static nettle_cipher_func *table(int bits, int decrypt) {
	switch (bits) {
	case 128:
		return decrypt ? _nettle_aes128_decrypt_c : _nettle_aes128_encrypt_c;
	case 192:
		return decrypt ? _nettle_aes192_decrypt_c : _nettle_aes192_encrypt_c;
	default:
		return decrypt ? _nettle_aes256_decrypt_c : _nettle_aes256_encrypt_c;
	}
}

static void *context(size_t size) {
	void *p = NULL;
	return posix_memalign(&p, 64, size) ? NULL : memset(p, 0, size);
}

static void nettle_close(struct cipher *n) {
	free(n->ctx);
	free(n->tweak);
	free(n);
}

static struct cipher *nettle_open(const char *cipher, int bits, int tables, int mode, int decrypt, const uint8_t *key) {
	const struct nettle_cipher *c = find(cipher, bits);
	if (!c)
		return NULL;
	if (mode == CTR || mode >= GCM)
		decrypt = 0;
	nettle_cipher_func *crypt = decrypt ? c->decrypt : c->encrypt;
	int aes = !strcmp(cipher, "aes");
	if (tables && !(aes && (crypt = table(bits, decrypt))))
		return NULL;
	struct cipher *n = calloc(1, sizeof *n);
	if (!n || !(n->ctx = context(c->context_size)) || !(n->tweak = context(c->context_size)))
		abort();
	n->mode = mode;
	n->decrypt = decrypt;
	n->aes_bits = aes && !tables ? bits : 0;
	n->crypt = crypt;
	n->encrypt = c->encrypt;
	if (decrypt)
		c->set_decrypt_key(n->ctx, key);
	else
		c->set_encrypt_key(n->ctx, key);
	if (mode == XTS)
		c->set_encrypt_key(n->tweak, key + bits / 8);
	if (mode == GCM)
		gcm_set_key(&n->key.gcm, n->ctx, crypt);
	if (mode == EAX)
		eax_set_key(&n->key.eax, n->ctx, crypt);
	return n;
}

static void nettle_cbc(struct cipher *c, uint8_t *iv, size_t size, uint8_t *dst, const uint8_t *src) {
	if (c->decrypt) {
		cbc_decrypt(c->ctx, c->crypt, 16, iv, size, dst, src);
		return;
	}
#if NETTLE_VERSION_MAJOR > 3 || NETTLE_VERSION_MINOR >= 8
	switch (c->aes_bits) { // these keep the round keys in registers
	case 128:
		cbc_aes128_encrypt(c->ctx, iv, size, dst, src);
		return;
	case 192:
		cbc_aes192_encrypt(c->ctx, iv, size, dst, src);
		return;
	case 256:
		cbc_aes256_encrypt(c->ctx, iv, size, dst, src);
		return;
	}
#endif
	cbc_encrypt(c->ctx, c->crypt, 16, iv, size, dst, src);
}

static void nettle_run(struct cipher *c, uint8_t *dst, const uint8_t *src, size_t size, const uint8_t *start, long n) {
	uint8_t iv[16];
	if (c->mode == CHAIN)
		memcpy(dst, src, 16);
	for (; n > 0; n--) {
		if (start)
			memcpy(iv, start, 16);
		switch (c->mode) {
		case ECB:
			c->crypt(c->ctx, size, dst, src);
			break;
		case CBC:
			nettle_cbc(c, iv, size, dst, src);
			break;
		case CTR:
			ctr_crypt(c->ctx, c->crypt, 16, iv, size, dst, src);
			break;
		case XTS:
			if (c->decrypt)
				xts_decrypt_message(c->ctx, c->tweak, c->crypt, c->encrypt, iv, size, dst, src);
			else
				xts_encrypt_message(c->ctx, c->tweak, c->crypt, iv, size, dst, src);
			break;
		case BLOCKS:
			for (size_t i = 0; i < size; i += 16)
				c->crypt(c->ctx, 16, dst + i, src + i);
			break;
		case CHAIN:
			c->crypt(c->ctx, 16, dst, dst);
			break;
		}
	}
}

static int nettle_aead(struct cipher *c, int op, uint8_t *dst, const uint8_t *src, size_t size, int put_back, uint8_t *nonce, size_t nonce_len, long n) {
	int ok = 1;
	uint8_t tag[TAG];
	union {
		struct gcm_ctx gcm;
		struct eax_ctx eax;
		struct ccm_ctx ccm;
	} s;
	for (; n > 0 && ok; n--) {
		struct message m = message(c->mode, op, dst, src, size, put_back, nonce, nonce_len);
		size_t text = op == AUTH ? 0 : size, ad = op == AUTH ? size : 0;
		uint8_t *t = op == DEC ? tag : m.tag;
		switch (c->mode) {
		case GCM:
			gcm_set_iv(&s.gcm, &c->key.gcm, nonce_len, nonce);
			gcm_update(&s.gcm, &c->key.gcm, ad, m.in);
			(op == DEC ? gcm_decrypt : gcm_encrypt)(&s.gcm, &c->key.gcm, c->ctx, c->crypt, text, m.out, m.in);
			gcm_digest(&s.gcm, &c->key.gcm, c->ctx, c->crypt, TAG, t);
			break;
		case EAX:
			eax_set_nonce(&s.eax, &c->key.eax, c->ctx, c->crypt, nonce_len, nonce);
			eax_update(&s.eax, &c->key.eax, c->ctx, c->crypt, ad, m.in);
			(op == DEC ? eax_decrypt : eax_encrypt)(&s.eax, &c->key.eax, c->ctx, c->crypt, text, m.out, m.in);
			eax_digest(&s.eax, &c->key.eax, c->ctx, c->crypt, TAG, t);
			break;
		case CCM:
			ccm_set_nonce(&s.ccm, c->ctx, c->crypt, nonce_len, nonce, ad, text, TAG);
			ccm_update(&s.ccm, c->ctx, c->crypt, ad, m.in);
			(op == DEC ? ccm_decrypt : ccm_encrypt)(&s.ccm, c->ctx, c->crypt, text, m.out, m.in);
			ccm_digest(&s.ccm, c->ctx, c->crypt, TAG, t);
			break;
		}
		if (op == DEC)
			ok = memeql_sec(tag, m.tag, TAG);
		done(m, op, dst);
	}
	return ok;
}
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"
)

func init() {
	peers = append(peers,
		peer{name: nettle, version: nettleVersion, open: func(j job) (*runner, error) { return nettleOpen(j, false) }},
		peer{name: nettleTables, open: func(j job) (*runner, error) { return nettleOpen(j, true) }},
	)
}

func nettleVersion() string {
	return fmt.Sprintf("%d.%d", C.NETTLE_VERSION_MAJOR, C.NETTLE_VERSION_MINOR)
}

// nettleOpen has every cipher and mode but ocb, siv and gcm-siv; with tables only AES, and of the modes
// those that are nothing but the cipher.
func nettleOpen(j job, tables bool) (*runner, error) {
	if tables && j.mode != ecb && j.mode != blocks && j.mode != chain {
		return nil, errNotOffered
	}
	if slices.Contains([]string{ocb, siv, gcmSIV}, j.mode) {
		return nil, errNotOffered
	}
	name := C.CString(j.cipher)
	defer C.free(unsafe.Pointer(name))
	key := j.key()
	c := C.nettle_open(name, C.int(j.bits), cbool[C.int](tables), C.int(modeNumber(j.mode)), cbool[C.int](j.decrypt()), (*C.uint8_t)(&key[0]))
	if c == nil {
		return nil, errNotOffered
	}
	var iv *C.uint8_t
	if v := j.iv(); v != nil {
		iv = (*C.uint8_t)(C.CBytes(v))
	}
	free := func() {
		C.nettle_close(c)
		C.free(unsafe.Pointer(iv))
	}
	if j.aead() {
		op, ivLen := C.int(opNumber(j.op)), C.size_t(len(j.iv()))
		r := &runner{free: free}
		r.run = func(dst, src []byte, n int) error {
			if C.nettle_aead(c, op, (*C.uint8_t)(&dst[0]), (*C.uint8_t)(&src[0]), C.size_t(j.text(src)), cbool[C.int](r.putBack), iv, ivLen, C.long(n)) == 0 {
				return errTag
			}
			return nil
		}
		return r, nil
	}
	return &runner{
		run: func(dst, src []byte, n int) error {
			C.nettle_run(c, (*C.uint8_t)(&dst[0]), (*C.uint8_t)(&src[0]), C.size_t(len(src)), iv, C.long(n))
			return nil
		},
		free: free,
	}, nil
}
