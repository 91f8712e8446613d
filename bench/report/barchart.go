package main

import (
	"fmt"
	"image/color"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	chartWidth  = 18 * vg.Centimeter
	chartHeight = 9 * vg.Centimeter
	margin      = 3 * vg.Millimeter
	maxLabelled = 16 // the maximum number of bars with their figures above them
)

// palette has a colour for each contestant of a chart, lockwheel's first.
var palette = []color.Color{
	color.RGBA{0x1b, 0x6c, 0xa8, 0xff}, color.RGBA{0x99, 0x99, 0x99, 0xff}, color.RGBA{0xe0, 0x7b, 0x39, 0xff},
	color.RGBA{0xc9, 0xa2, 0x27, 0xff}, color.RGBA{0x5b, 0x8c, 0x5a, 0xff}, color.RGBA{0x8e, 0x5c, 0x8a, 0xff}, color.RGBA{0xb0, 0x3a, 0x48, 0xff},
}

// barChart is a chart of bars in groups. A figure of 0 is missing.
type barChart struct {
	title, unit, xLabel string
	linear              bool        // the axis begins at 0; otherwise it is logarithmic
	labels              []string    // of the groups
	names               []string    // of the contestants; each group has a bar for each
	figures             [][]float64 // by name, then by group
}

// put sets a figure; a new name comes last.
func (g *barChart) put(name string, group int, figure float64) {
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

// save draws the chart into a file.
func (g *barChart) save(file string) error {
	c := vgsvg.New(chartWidth, chartHeight)
	g.draw(draw.New(c))
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err = c.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// draw draws the bars, and the legend below them.
func (g *barChart) draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	l := legend{names: g.names, style: text.Style{
		Color: color.Black, Font: plot.DefaultFont, YAlign: text.YCenter, Handler: plot.DefaultTextHandler,
	}}
	l.style.Font.Size = vg.Points(8)
	height := l.height(c)
	g.plot().Draw(draw.Crop(c, 0, 0, height, 0))
	l.draw(draw.Crop(c, 0, 0, 0, height-(c.Max.Y-c.Min.Y)))
}

func (g *barChart) plot() *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = g.title, 2*vg.Millimeter
	p.X.Label.Text, p.Y.Label.Text = g.xLabel, g.unit
	if !g.linear {
		p.Y.Label.Text += ", logarithmic"
	}
	for _, style := range []*text.Style{&p.X.Tick.Label, &p.Y.Tick.Label, &p.X.Label.TextStyle, &p.Y.Label.TextStyle} {
		style.Font.Size = vg.Points(9)
	}
	p.NominalX(g.labels...)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	many := len(g.names)*len(g.labels) > maxLabelled
	for i := range g.names {
		b := bars{figures: g.figures[i], at: i, of: len(g.names), color: palette[i%len(palette)], style: p.X.Tick.Label}
		b.style.Font.Size = vg.Points(7)
		b.style.XAlign, b.style.YAlign = text.XCenter, text.YBottom
		b.unlabelled = many
		p.Add(b)
	}
	p.X.Min, p.X.Max = -0.5, float64(len(g.labels))-0.5
	g.scale(p)
	return p
}

// scale sets the vertical axis, with space below the lowest bar so that it is visible, and above the highest for its
// figure.
func (g *barChart) scale(p *plot.Plot) {
	low, high := g.span()
	if g.linear {
		p.Y.Min, p.Y.Max = 0, high*1.1
		p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
			ticks := plot.DefaultTicks{}.Ticks(low, high)
			for i := range ticks {
				if ticks[i].Label != "" {
					ticks[i].Label = axisLabel(ticks[i].Value)
				}
			}
			return ticks
		})
		return
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(powerTicks)
	p.Y.Min, p.Y.Max = low/2, high*1.5
}

// powerTicks returns ticks at 1 to 9 times every power of ten. Each power has a label; twice and five times it, where
// there are few powers.
func powerTicks(low, high float64) (ticks []plot.Tick) {
	few := high/low < 2000
	for exponent := math.Floor(math.Log10(low)); exponent <= math.Log10(high); exponent++ {
		for m := 1; m <= 9; m++ {
			tick := plot.Tick{Value: float64(m) * math.Pow(10, exponent)}
			if m == 1 || few && (m == 2 || m == 5) {
				tick.Label = axisLabel(tick.Value)
			}
			if tick.Value >= low && tick.Value <= high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// axisLabel returns a round number of an axis.
func axisLabel(x float64) string {
	if x >= 1 || x == 0 {
		return count(x)
	}
	return fmt.Sprintf("%.3g", x)
}

// span returns the smallest and the largest figure.
func (g *barChart) span() (low, high float64) {
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

// bars are those of one contestant. gonum's own bars begin at zero, which a logarithmic axis does not have.
type bars struct {
	figures    []float64
	at, of     int // the index of the bar in its group, and the number of bars
	color      color.Color
	style      text.Style
	unlabelled bool // without its figure
}

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := 0.8 / float64(b.of)
	for group, figure := range b.figures {
		if figure <= 0 {
			continue
		}
		left := float64(group) - 0.4 + width*float64(b.at)
		right := left + width*0.92
		c.FillPolygon(b.color, []vg.Point{
			{X: x(left), Y: y(p.Y.Min)}, {X: x(left), Y: y(figure)}, {X: x(right), Y: y(figure)}, {X: x(right), Y: y(p.Y.Min)},
		})
		if !b.unlabelled {
			c.FillText(b.style, vg.Point{X: x((left + right) / 2), Y: y(figure) + vg.Points(1)}, decimals(figure))
		}
	}
}

// legend draws the colours and names below the bars. A chart of one contestant needs none.
type legend struct {
	names []string
	style text.Style
}

const (
	swatch  = 3 * vg.Millimeter
	lineGap = 4.5 * vg.Millimeter
)

// columns returns how many names are side by side, and how wide each is with its colour.
func (l legend) columns(c draw.Canvas) (columns int, width vg.Length) {
	for _, name := range l.names {
		width = max(width, l.style.Width(name)+swatch+4*vg.Millimeter)
	}
	return max(1, int((c.Max.X-c.Min.X)/width)), width
}

func (l legend) height(c draw.Canvas) vg.Length {
	if len(l.names) < 2 {
		return 0
	}
	columns, _ := l.columns(c)
	return lineGap*vg.Length((len(l.names)+columns-1)/columns) + 2*vg.Millimeter
}

func (l legend) draw(c draw.Canvas) {
	if len(l.names) < 2 {
		return
	}
	columns, width := l.columns(c)
	for i, name := range l.names {
		x, y := c.Min.X+width*vg.Length(i%columns), c.Max.Y-lineGap*(vg.Length(i/columns)+0.5)-2*vg.Millimeter
		low, high := y-swatch/2, y+swatch/2
		c.FillPolygon(palette[i%len(palette)], []vg.Point{{X: x, Y: low}, {X: x, Y: high}, {X: x + swatch, Y: high}, {X: x + swatch, Y: low}})
		c.FillText(l.style, vg.Point{X: x + swatch + vg.Millimeter, Y: y}, name)
	}
}
