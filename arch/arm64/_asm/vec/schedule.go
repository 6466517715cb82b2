package vec

import "slices"

// A Model is a processor that begins instructions in the order of the program, as
// Schedule imagines it.
type Model struct {
	Width   int // operations a cycle
	Latency int // cycles
	Live    int // values that may be alive at a time, words of keys included
	Lead    int // cycles that each group is to be ahead of the next
}

// Schedule returns the list in the order in which the model would begin its
// instructions if it could choose. What the results of bit selects take the place
// of in the given order they take the place of in the new one, so that no copies
// are added. inputs and after are the values that are there before the list and
// needed after it.
func (p *Program) Schedule(list []Inst, m Model, inputs, after []Value) []Inst {
	producer := map[Value]int{}
	readers := map[Value][]int{}
	for i, in := range list {
		producer[in.Out] = i
		for _, v := range in.In {
			if !slices.Contains(readers[v], i) {
				readers[v] = append(readers[v], i)
			}
		}
	}
	needed := map[Value]bool{}
	for _, v := range after {
		needed[v] = true
	}

	// Edges: to instructions that read a result, and from the other readers of a
	// value to the one that overwrites it.
	type edge struct{ to, latency int }
	next := make([][]edge, len(list))
	waits := make([]int, len(list))
	connect := func(from, to, latency int) {
		next[from] = append(next[from], edge{to, latency})
		waits[to]++
	}
	for i, in := range list {
		for j, v := range in.In {
			if from, ok := producer[v]; ok && !slices.Contains(in.In[:j], v) {
				connect(from, i, m.Latency)
			}
		}
		if in.Op != Bsl {
			continue
		}
		for _, v := range in.In {
			r := readers[v]
			if _, key := p.Keys[v]; !key && !needed[v] && r[len(r)-1] == i {
				for _, other := range r[:len(r)-1] {
					connect(other, i, 0)
				}
				break
			}
		}
	}
	height := make([]int, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		height[i] = m.Latency
		for _, e := range next[i] {
			height[i] = max(height[i], height[e.to]+e.latency)
		}
	}

	for i := range list {
		height[i] -= m.Lead * list[i].Group
	}

	left := map[Value]int{}
	for v, r := range readers {
		left[v] = len(r)
	}
	live := map[Value]bool{}
	for _, v := range inputs {
		live[v] = true
	}
	// grows returns by how much an instruction changes the number of values.
	grows := func(i int) int {
		n := 1
		for j, v := range list[i].In {
			if slices.Contains(list[i].In[:j], v) {
				continue
			}
			if !live[v] {
				n++
			}
			if left[v] == 1 && !needed[v] {
				n--
			}
		}
		return n
	}
	// peak returns how many registers are in use while it runs.
	peak := func(i int) int {
		n := len(live)
		for j, v := range list[i].In {
			if !live[v] && !slices.Contains(list[i].In[:j], v) {
				n++
			}
		}
		return max(n, len(live)+grows(i))
	}

	ready := make([]int, len(list))
	done := make([]bool, len(list))
	out := make([]Inst, 0, len(list))
	for cycle := 0; len(out) < len(list); cycle++ {
		for range m.Width {
			best, full := -1, false
			for i := range list {
				if done[i] || waits[i] > 0 {
					continue
				}
				if peak(i) > m.Live {
					full = true
					continue
				}
				if ready[i] > cycle || best >= 0 && height[best] >= height[i] {
					continue
				}
				best = i
			}
			if best < 0 && full {
				// Nothing can begin without more registers: take what can
				// begin at all and needs fewest more, the first of them.
				waiting := false
				for i := range list {
					if !done[i] && waits[i] == 0 && peak(i) <= m.Live {
						waiting = true
					}
				}
				if !waiting {
					for i := range list {
						if !done[i] && waits[i] == 0 && (best < 0 || grows(i) < grows(best)) {
							best = i
						}
					}
				}
			}
			if best < 0 {
				break
			}
			done[best] = true
			for j, v := range list[best].In {
				if slices.Contains(list[best].In[:j], v) {
					continue
				}
				live[v] = true
				if left[v]--; left[v] == 0 && !needed[v] {
					delete(live, v)
				}
			}
			live[list[best].Out] = true
			for _, e := range next[best] {
				waits[e.to]--
				ready[e.to] = max(ready[e.to], cycle+e.latency)
			}
			out = append(out, list[best])
		}
	}
	return out
}
