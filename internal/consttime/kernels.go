package consttime

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Kernels returns the names of all functions that v holds, however deep, without
// the package: those that a driver can call.
func Kernels(v any) []string {
	names := map[string]bool{}
	collect(reflect.ValueOf(v), names, map[uintptr]bool{})
	l := make([]string, 0, len(names))
	for n := range names {
		l = append(l, n)
	}
	slices.Sort(l)
	return l
}

func collect(v reflect.Value, names map[string]bool, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Func:
		if !v.IsNil() {
			name := runtime.FuncForPC(v.Pointer()).Name()
			name = name[strings.LastIndexByte(name, '/')+1:]
			_, name, _ = strings.Cut(name, ".")
			names[strings.TrimSuffix(name, ".abi0")] = true
		}
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.Pointer()] {
			seen[v.Pointer()] = true
			collect(v.Elem(), names, seen)
		}
	case reflect.Interface:
		collect(v.Elem(), names, seen)
	case reflect.Struct:
		for i := range v.NumField() {
			collect(v.Field(i), names, seen)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			collect(v.Index(i), names, seen)
		}
	}
}
