// Package aes holds the AES drivers for amd64. It carries no compatibility
// promise: use package nway, which chooses among the drivers.
package aes
