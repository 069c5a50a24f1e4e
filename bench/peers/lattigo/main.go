// Times Lattigo on one thread and prints JSON with the same keys as the Python programs here.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"
)

const lattigo = "github.com/tuneinsight/lattigo/v6"

// Figures of one parameter set, in milliseconds.
type shape struct {
	Shape      string             `json:"shape"`
	Variant    string             `json:"variant,omitempty"`
	LogN       int                `json:"log_n"`
	Parameters string             `json:"parameters"`
	Figures    map[string]float64 `json:"figures"`
}

type report struct {
	Peer    string  `json:"peer"`
	Runtime string  `json:"runtime"`
	Shapes  []shape `json:"shapes"`
}

var tables = map[string]func() []shape{
	"she":          she,
	"bootstrap-16": bootstrap16,
	"bootstrap-15": bootstrap15,
	"key-switch":   keySwitch,
	"integers":     integers,
}

func main() {
	if len(os.Args) != 2 || tables[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: lattigo she|bootstrap-16|bootstrap-15|key-switch|integers")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	shapes := tables[os.Args[1]]()
	out := report{Peer: "Lattigo " + version(), Runtime: strings.Replace(runtime.Version(), "go", "Go ", 1), Shapes: shapes}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fail("print", err)
	}
}

// The version of Lattigo that was built in.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == lattigo {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	os.Exit(1)
}

// must ends the program where there is an error.
func must(err error) {
	if err != nil {
		fail("lattigo", err)
	}
}

func get[T any](value T, err error) T {
	must(err)
	return value
}

func since(start time.Time) float64 {
	return 1e3 * time.Since(start).Seconds()
}

// median milliseconds of some work over 0.6 s, but at least of five runs, after one to warm up.
func median(work func()) float64 {
	return medianOf(5, 600*time.Millisecond, work)
}

func medianOf(least int, total time.Duration, work func()) float64 {
	work()
	var samples []float64
	for start := time.Now(); len(samples) < least || time.Since(start) < total; {
		before := time.Now()
		work()
		samples = append(samples, since(before))
	}
	sort.Float64s(samples)
	return samples[len(samples)/2]
}

// check refuses a result that is wrong: a time for it would mean nothing.
func check(what string, worst, allowed float64) {
	if math.IsNaN(worst) || worst > allowed {
		fail(what, fmt.Errorf("largest error %.3g, allowed %.3g", worst, allowed))
	}
}

// repeated is a list of the first size and so many of the second.
func repeated(first, size, count int) []int {
	sizes := []int{first}
	for range count {
		sizes = append(sizes, size)
	}
	return sizes
}
