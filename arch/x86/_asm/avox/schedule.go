package avox

import "cmp"

// A Model is a processor as Schedule imagines it.
type Model struct {
	Width   int // operations a cycle
	Shifts  int // shifts and rotations among them
	Latency func(op Op) int
}

// Schedule returns the list in the order in which the model would begin its
// instructions if it always took those with the longest way to go. Processors
// prefer what comes first in the program among what is ready; so this helps them
// where a single stream leaves them little choice.
func (p *Program) Schedule(list []Inst, m Model) []Inst {
	producer := map[Value]int{}
	for i, in := range list {
		for _, v := range in.Out {
			producer[v] = i
		}
	}
	height := make([]int, len(list)) // cycles from the beginning to the end of everything
	latency := func(i int) int { return m.Latency(list[i].Op) }
	for i := len(list) - 1; i >= 0; i-- {
		height[i] = max(height[i], latency(i))
		for _, v := range list[i].In {
			if j, ok := producer[v]; ok {
				height[j] = max(height[j], height[i]+latency(j))
			}
		}
	}
	ready := make([]int, len(list)) // when its inputs are there
	done := make([]bool, len(list))
	var out []Inst
	for cycle := 0; len(out) < len(list); cycle++ {
		width, shifts := m.Width, m.Shifts
		for width > 0 {
			best := -1
			for i := range list {
				if done[i] || best >= 0 && cmp.Or(cmp.Compare(height[i], height[best]), best-i) <= 0 {
					continue
				}
				if shift := isShift(list[i].Op); shift && shifts == 0 {
					continue
				}
				at := 0
				for _, v := range list[i].In {
					if j, ok := producer[v]; ok {
						if !done[j] {
							at = never
							break
						}
						at = max(at, ready[j]+latency(j))
					}
				}
				if at <= cycle {
					best = i
				}
			}
			if best < 0 {
				break
			}
			done[best], ready[best] = true, cycle
			out = append(out, list[best])
			width--
			if isShift(list[best].Op) {
				shifts--
			}
		}
	}
	return out
}

func isShift(op Op) bool { return op == Shl || op == Shr || op == Rol }
