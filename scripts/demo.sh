#!/bin/sh
# The main job from end to end: self-tests, a file encrypted and decrypted with
# xts(serpent), and a short speed table. Usage: demo.sh NWAY
set -eu
nway=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

echo "== self-tests of every driver in every mode"
"$nway" test

echo
echo "== $nway itself, encrypted and decrypted with xts(serpent) in sectors of 512 bytes"
"$nway" list 'xts(serpent)'
head -c 64 /dev/urandom >"$dir/key"
# A disk has whole sectors: cut the file to a multiple of 512 bytes.
size=$(($(wc -c <"$nway") / 512 * 512))
head -c "$size" "$nway" >"$dir/plain"
iv=00000000000000000000000000000000
"$nway" enc -a 'xts(serpent)' --key-file "$dir/key" --iv-hex $iv --sector-size 512 --verbose -i "$dir/plain" -o "$dir/cipher"
"$nway" dec -a 'xts(serpent)' --key-file "$dir/key" --iv-hex $iv --sector-size 512 -i "$dir/cipher" -o "$dir/again"
if cmp -s "$dir/plain" "$dir/cipher"; then echo "the ciphertext is the plaintext" >&2; exit 1; fi
cmp "$dir/plain" "$dir/again"
echo "$size bytes came back identical"

echo
echo "== speed"
"$nway" speed --sizes 512,4096 --time 50ms 'ctr(serpent)' 'xts(serpent)' 'xts(twofish)' 'xts(camellia)' 'xts(aes)'
