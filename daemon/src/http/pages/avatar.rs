//! Avatars of accounts: a pattern of squares, derived from the number of the account.

use std::fmt::Write as _;

/// Number of squares per row and column. The right half mirrors the left half.
const SIZE: u64 = 5;

/// Returns the avatar of the account with the number `id`, as SVG.
pub(super) fn svg(id: u64) -> String {
    // Multiplication by the golden ratio spreads consecutive numbers over the range.
    let mixed = id.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hue = (mixed >> 16) % 360;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"80\" height=\"80\" \
         fill=\"hsl({hue},45%,45%)\">"
    );
    for y in 0..SIZE {
        for x in 0..SIZE {
            let bit = y * SIZE.div_ceil(2) + x.min(SIZE - 1 - x);
            if (mixed >> (32 + bit)) & 1 == 1 {
                let _ = write!(svg, "<path d=\"M{x} {y}h1v1h-1z\"/>");
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}
