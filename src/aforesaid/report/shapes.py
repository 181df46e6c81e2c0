"""A drawing as a list of shapes: as SVG, which is plain text, or as PDF or PNG, by Matplotlib.

The origin is the upper left corner, as on a screen; colours are as in HTML.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

FORMATS = (".svg", ".pdf", ".png")
PIXELS_PER_INCH = 96
HEAD = 7.0
"""How long an arrow's head is."""


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    colour: str
    width: float = 1.0
    opacity: float = 1.0
    dashed: bool = False
    title: str = ""


@dataclass(frozen=True)
class Polygon:
    points: tuple[tuple[float, float], ...]
    fill: str
    stroke: str = "none"
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: str
    stroke: str = "none"
    title: str = ""


@dataclass(frozen=True)
class Words:
    x: float
    y: float
    text: str
    colour: str = "#1f2328"
    anchor: str = "start"
    bold: bool = False


Shape: TypeAlias = Line | Polygon | Circle | Words


@dataclass
class Drawing:
    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def add(self, shapes: Iterable[Shape]) -> None:
        self.shapes.extend(shapes)

    def svg(self) -> str:
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">'
        )
        ground = f'<rect width="{self.width:g}" height="{self.height:g}" fill="white"/>'
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([opening, title, ground, *map(_svg, self.shapes), "</svg>\n"])

    def save(self, path: Path) -> None:
        """In the format that the file's name ends with, one of FORMATS."""
        if path.suffix == ".svg":
            path.write_text(self.svg())
            return
        from matplotlib.figure import Figure

        figure = Figure(figsize=(self.width / PIXELS_PER_INCH, self.height / PIXELS_PER_INCH))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        for layer, shape in enumerate(self.shapes):
            _plot(axes, shape, layer)
        # Without the date, the same picture is the same file.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        figure.savefig(path, dpi=2 * PIXELS_PER_INCH, metadata=metadata)


def rectangle(x: float, y: float, width: float, height: float, fill: str, **style: Any) -> Polygon:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return Polygon(corners, fill, **style)


def arrow(line: Line) -> list[Shape]:
    """A line with a head at its end."""
    angle = math.atan2(line.y2 - line.y1, line.x2 - line.x1)
    left, right = (
        (line.x2 - HEAD * math.cos(angle + turn), line.y2 - HEAD * math.sin(angle + turn))
        for turn in (0.4, -0.4)
    )
    return [line, Polygon(((line.x2, line.y2), left, right), line.colour, opacity=line.opacity)]


def _svg(shape: Shape) -> str:
    match shape:
        case Line():
            dash = ' stroke-dasharray="4 3"' if shape.dashed else ""
            style = (
                f'stroke="{shape.colour}" stroke-width="{shape.width:g}" opacity="{shape.opacity:g}"{dash}'
            )
            ends = f'x1="{shape.x1:.1f}" y1="{shape.y1:.1f}" x2="{shape.x2:.1f}" y2="{shape.y2:.1f}"'
            return _element("line", f"{ends} {style}", shape.title)
        case Polygon():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
            style = f'fill="{shape.fill}" stroke="{shape.stroke}" opacity="{shape.opacity:g}"'
            return _element("polygon", f'points="{points}" {style}', shape.title)
        case Circle():
            place = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}"'
            return _element("circle", f'{place} fill="{shape.fill}" stroke="{shape.stroke}"', shape.title)
        case Words():
            weight = ' font-weight="600"' if shape.bold else ""
            style = f'fill="{shape.colour}" text-anchor="{shape.anchor}"{weight}'
            return f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" {style}>{escape(shape.text)}</text>'


def _element(name: str, attributes: str, title: str) -> str:
    if not title:
        return f"<{name} {attributes}/>"
    return f"<{name} {attributes}><title>{escape(title)}</title></{name}>"


def _plot(axes: Any, shape: Shape, layer: int) -> None:
    from matplotlib import patches

    match shape:
        case Line():
            style = "--" if shape.dashed else "-"
            width = shape.width * 0.75
            axes.plot(
                (shape.x1, shape.x2),
                (shape.y1, shape.y2),
                style,
                color=shape.colour,
                alpha=shape.opacity,
                linewidth=width,
                solid_capstyle="butt",
                zorder=layer,
            )
        case Polygon():
            axes.add_patch(
                patches.Polygon(
                    shape.points,
                    facecolor=shape.fill,
                    edgecolor=shape.stroke,
                    alpha=shape.opacity,
                    zorder=layer,
                )
            )
        case Circle():
            axes.add_patch(
                patches.Circle(
                    (shape.x, shape.y),
                    shape.radius,
                    facecolor=shape.fill,
                    edgecolor=shape.stroke,
                    zorder=layer,
                )
            )
        case Words():
            anchor = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
            weight = "bold" if shape.bold else "normal"
            axes.text(
                shape.x,
                shape.y,
                shape.text,
                color=shape.colour,
                ha=anchor,
                fontsize=9,
                weight=weight,
                zorder=layer,
            )
