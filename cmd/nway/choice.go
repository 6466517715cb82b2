package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/algapi"
)

// choice is what the NAME arguments of a command stand for. No arguments stand
// for everything.
type choice []pick

// pick is what one argument stands for: certain drivers, everything over a
// cipher (or a cipher's driver), or every instance of a template.
type pick struct {
	arg      string
	drivers  []string
	cipher   string
	template string
}

// choose reads NAME arguments. An argument that reg does not know is an error.
func choose(reg *algapi.Registry, args []string) (choice, error) {
	var c choice
	for _, arg := range args {
		p := pick{arg: arg}
		if isTemplate(reg, arg) {
			p.template = arg
			c = append(c, p)
			continue
		}
		for _, i := range reg.List() { // internal ones, which a lookup does not find
			if i.Internal && (i.Name == arg || i.Driver == arg) {
				p.drivers = append(p.drivers, i.Driver)
			}
		}
		if len(p.drivers) > 0 {
			c = append(c, p)
			continue
		}
		algs, err := reg.Candidates(arg)
		if err != nil {
			return nil, err
		}
		for _, a := range algs {
			p.drivers = append(p.drivers, a.Driver)
			if a.Kind == algapi.KindCipher {
				p.cipher = arg
			}
		}
		c = append(c, p)
	}
	return c, nil
}

// isTemplate reports whether name is a template's own name and nothing else.
func isTemplate(reg *algapi.Registry, name string) bool {
	return slices.ContainsFunc(reg.Names(), func(s string) bool { return strings.HasPrefix(s, name+"(") })
}

// has reports whether the driver of the algorithm name is chosen.
func (c choice) has(name, driver string) bool {
	return len(c) == 0 || slices.ContainsFunc(c, func(p pick) bool {
		return p.has(name) || slices.Contains(p.drivers, driver) || p.cipher != "" && innermost(driver) == p.cipher
	})
}

// hasName reports whether the algorithm name is chosen, whatever drivers it has.
func (c choice) hasName(name string) bool {
	return len(c) == 0 || slices.ContainsFunc(c, func(p pick) bool { return p.has(name) || p.arg == name })
}

func (p pick) has(name string) bool {
	return p.cipher != "" && innermost(name) == p.cipher || p.template != "" && strings.HasPrefix(name, p.template+"(")
}

// innermost returns serpent of cts(cbc(serpent)).
func innermost(name string) string {
	n, err := algapi.ParseName(name)
	if err != nil {
		return ""
	}
	return n.Cipher()
}

// chosen returns what is registered and chosen, after having the registry build
// every usual instance. Nothing is tested.
func chosen(reg *algapi.Registry, c choice) []algapi.Info {
	for _, name := range reg.Names() {
		_, _ = reg.Candidates(name) // a mode that a cipher cannot serve is not built
	}
	return slices.DeleteFunc(reg.List(), func(i algapi.Info) bool { return !c.has(i.Name, i.Driver) })
}

// completeNames offers the generic names that keep accepts.
func (a *app) completeNames(keep func(*algapi.Alg) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		reg := a.registry()
		var names []string
		for _, n := range reg.Names() {
			if !strings.HasPrefix(n, prefix) {
				continue
			}
			if algs, err := reg.Candidates(n); err == nil && keep(algs[0]) {
				names = append(names, n)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func anyKind(*algapi.Alg) bool { return true }

func isSkcipher(a *algapi.Alg) bool { return a.Kind == algapi.KindSkcipher }
