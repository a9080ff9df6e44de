//! A picture for an account: squares in a pattern and a colour that come from its number.

use std::fmt::Write as _;

/// Squares in a row; the right half mirrors the left one.
const SIZE: u64 = 5;

/// The picture for the account with number `id`, as SVG.
pub(super) fn svg(id: u64) -> String {
    // The golden ratio spreads neighbouring numbers over the range.
    let mixed = id.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hue = (mixed >> 16) % 360;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"80\" height=\"80\" \
         fill=\"hsl({hue},45%,45%)\">"
    );
    for y in 0..SIZE {
        for x in 0..SIZE {
            let place = y * SIZE.div_ceil(2) + x.min(SIZE - 1 - x);
            if (mixed >> (32 + place)) & 1 == 1 {
                let _ = write!(svg, "<path d=\"M{x} {y}h1v1h-1z\"/>");
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}
