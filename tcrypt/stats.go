package tcrypt

import "slices"

// quantile returns the q-quantile of v, which is not empty: 0.5 is the median.
func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// Interval is a figure, the median of its rounds, with the quartiles around it.
type Interval struct{ Low, Mid, High float64 }

func interval(v []float64) Interval {
	return Interval{quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75)}
}

// Spread returns half the distance between the quartiles, as a part of the median.
func (i Interval) Spread() float64 { return (i.High - i.Low) / 2 / i.Mid }

// maxSpread is the spread beyond which a figure is called noisy.
const maxSpread = 0.05

// Ratio returns how many times as fast a is as b, round by round where both were
// measured in the same rounds. ok is false if one of them has no figure.
func Ratio(a, b Row) (r Interval, ok bool) {
	if a.Err != nil || b.Err != nil || len(a.Nanos) == 0 || len(b.Nanos) == 0 {
		return Interval{}, false
	}
	if a.group != b.group || len(a.Nanos) != len(b.Nanos) {
		x, y := interval(a.Nanos), interval(b.Nanos)
		return Interval{y.Low / x.High, y.Mid / x.Mid, y.High / x.Low}, true
	}
	v := make([]float64, len(a.Nanos))
	for i := range v {
		v[i] = b.Nanos[i] / a.Nanos[i]
	}
	return interval(v), true
}
