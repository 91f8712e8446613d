package main

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockwheel/lockwheel/bench/measure"
)

const (
	chartWidth  = 18 * vg.Centimeter
	chartHeight = 9 * vg.Centimeter
)

// palette is a colour for each contestant of a chart, ours first.
var palette = []color.Color{
	color.RGBA{0x1b, 0x6c, 0xa8, 0xff}, color.RGBA{0x99, 0x99, 0x99, 0xff}, color.RGBA{0xe0, 0x7b, 0x39, 0xff},
	color.RGBA{0xc9, 0xa2, 0x27, 0xff}, color.RGBA{0x5b, 0x8c, 0x5a, 0xff}, color.RGBA{0x8e, 0x5c, 0x8a, 0xff}, color.RGBA{0xb0, 0x3a, 0x48, 0xff},
}

// charts draws what was measured, a file for each part.
func (r *results) charts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, g := range map[string]*groups{
		"pair": r.pairChart(), "hot": r.hotChart(), "wake": r.wakeChart(), "alone": r.aloneChart(), "steady": r.steadyChart(),
	} {
		if len(g.names) == 0 {
			continue
		}
		p, err := g.plot()
		if err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
		if err := p.Save(chartWidth, chartHeight, filepath.Join(dir, name+".svg")); err != nil {
			return err
		}
	}
	return nil
}

// groups are bars that stand together, on a logarithmic axis. A figure of 0 is one that is missing.
type groups struct {
	title, unit string
	labels      []string    // of the groups
	names       []string    // of the contestants, which each group has a bar of
	figures     [][]float64 // by name, then by group
}

func newGroups(title, unit string, labels ...string) *groups {
	return &groups{title: title, unit: unit, labels: labels}
}

// put sets a figure; a new name comes last.
func (g *groups) put(name string, group int, figure float64) {
	at := 0
	for at < len(g.names) && g.names[at] != name {
		at++
	}
	if at == len(g.names) {
		g.names = append(g.names, name)
		g.figures = append(g.figures, make([]float64, len(g.labels)))
	}
	g.figures[at][group] = figure
}

// putQuantiles sets the median, p99 and p99.9 of a histogram in microseconds.
func (g *groups) putQuantiles(name string, h *measure.Histogram, quantiles ...float64) {
	for i, q := range quantiles {
		g.put(name, i, float64(h.Quantile(q))/float64(time.Microsecond))
	}
}

func (g *groups) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = g.title, g.unit
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.XOffs = true, 0
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.NominalX(g.labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(g.labels))-0.5
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	low, high := g.span()
	for i, name := range g.names {
		b := bars{figures: g.figures[i], at: i, of: len(g.names), color: palette[i%len(palette)]}
		p.Add(b)
		p.Legend.Add(name, b)
	}
	// Room below the lowest bar, so that it is one, and above for the legend.
	p.Y.Min, p.Y.Max = low/2, high*float64(uint(1)<<(len(g.names)/2+2))
	return p, nil
}

// span is the smallest and the largest figure.
func (g *groups) span() (low, high float64) {
	for _, figures := range g.figures {
		for _, f := range figures {
			if f > 0 && (low == 0 || f < low) {
				low = f
			}
			high = max(high, f)
		}
	}
	return max(low, 1e-9), max(high, 1e-9)
}

// bars are those of one contestant. gonum's own begin at zero, which a logarithmic axis does not have.
type bars struct {
	figures []float64
	at, of  int // which bar of a group it is
	color   color.Color
}

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := 0.8 / float64(b.of)
	for group, figure := range b.figures {
		if figure <= 0 {
			continue
		}
		left := float64(group) - 0.4 + width*float64(b.at)
		c.FillPolygon(b.color, []vg.Point{
			{X: x(left), Y: y(p.Y.Min)}, {X: x(left), Y: y(figure)},
			{X: x(left + width*0.92), Y: y(figure)}, {X: x(left + width*0.92), Y: y(p.Y.Min)},
		})
	}
}

func (b bars) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

func (r *results) pairChart() *groups {
	var labels []string
	for _, p := range r.pairs {
		labels = append(labels, strconv.Itoa(p.goroutines))
	}
	g := newGroups("Lock and unlock of names of their own, by goroutines", "pairs a second", labels...)
	for i, p := range r.pairs {
		for _, s := range p.standings {
			g.put(s.Name, i, s.PairsPerSecond())
		}
	}
	return g
}

func (r *results) hotChart() *groups {
	var labels []string
	for _, h := range r.hots {
		labels = append(labels, fmt.Sprintf("%d × %d", h.clients, h.goroutines))
	}
	g := newGroups("Everybody wants one name: clients × goroutines", "pairs a second", labels...)
	for i, h := range r.hots {
		for _, f := range h.fights {
			g.put(f.Name, i, f.PairsPerSecond())
		}
	}
	return g
}

func (r *results) wakeChart() *groups {
	g := newGroups("Hand-over of a name from one client to another", "µs", "p50", "p99")
	for _, w := range r.wakings {
		g.putQuantiles(w.Name, &w.Took, 0.5, 0.99)
	}
	return g
}

func (r *results) aloneChart() *groups {
	g := newGroups("Lock by one caller, and bare round trips", "µs", "p50", "p99", "p99.9")
	for _, a := range r.alone {
		g.putQuantiles(a.Name, &a.Lock, 0.5, 0.99, 0.999)
	}
	return g
}

func (r *results) steadyChart() *groups {
	g := newGroups("1 000 lock+unlock a second, beside locks held", "µs", "p50", "p99", "p99.9")
	for _, l := range r.loads {
		g.putQuantiles(fmt.Sprintf("%s, %s held", l.Name, count(float64(l.Held))), &l.Called, 0.5, 0.99, 0.999)
	}
	return g
}
