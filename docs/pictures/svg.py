"""Converts a screen, as text with SGR escapes, to SVG on a dark or light background."""

import html, re, unicodedata

WIDTH, HEIGHT = 8.4, 18
GROUNDS = {
    "dark": ("#1d1f21", "#d8d8d8", ["#1d1f21", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8d8d8"]),
    "light": ("#ffffff", "#24292f", ["#24292f", "#b31d28", "#1a7f37", "#8a6100", "#0550ae", "#8250df", "#0b7285", "#d0d7de"]),
}


def runs(line, look):
    """Yields the parts of a line with the same attributes: text and SGR codes. `look` is kept between lines."""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, frozenset(look)
            continue
        for code in (int(code or 0) for code in part[2:-1].split(";")):
            if code == 0:
                look.clear()
            elif code == 39:
                look -= set(range(30, 38))
            elif 30 <= code <= 37:
                look -= set(range(30, 38))
                look.add(code)
            elif code in (1, 2, 4, 7):
                look.add(code)
            elif code == 22:
                look -= {1, 2}
            elif code in (24, 27):
                look.discard(code - 20)


def columns_of(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def svg(picture, columns, ground):
    back, fore, palette = GROUNDS[ground]
    lines = picture.rstrip("\n").split("\n")
    wide, high = columns * WIDTH + 20, len(lines) * HEIGHT + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high}" viewBox="0 0 {wide:.0f} {high}">',
           f'<rect width="100%" height="100%" rx="6" fill="{back}"/>',
           f'<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14" fill="{fore}">']
    worn = set()
    for y, line in enumerate(lines):
        x = 0
        for text, look in runs(line, worn):
            left, top, room = 10 + x * WIDTH, 10 + y * HEIGHT, columns_of(text) * WIDTH
            color = next((palette[code - 30] for code in look if 30 <= code <= 37), fore)
            if 7 in look:
                out.append(f'<rect x="{left:.1f}" y="{top}" width="{room:.1f}" height="{HEIGHT}" fill="{color}"/>')
                color = back
            style = [f'fill="{color}"'] if color != fore else []
            style += ['font-weight="bold"'] if 1 in look else []
            style += ['opacity="0.6"'] if 2 in look else []
            if 4 in look:
                out.append(f'<rect x="{left:.1f}" y="{top + HEIGHT - 2}" width="{room:.1f}" height="1" fill="{color}"/>')
            # Each word is positioned separately, so that it is in its cells with every font.
            for word in re.finditer(r"[^ ]+", text):
                at = left + columns_of(text[:word.start()]) * WIDTH
                length = columns_of(word[0]) * WIDTH
                out.append(f'<text x="{at:.1f}" y="{top + 13.5}" textLength="{length:.1f}" '
                           f'lengthAdjust="spacingAndGlyphs" {" ".join(style)}>{html.escape(word[0])}</text>')
            x += columns_of(text)
    return "\n".join([*out, "</g>", "</svg>", ""])
