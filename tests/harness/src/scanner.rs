//! A camera before a terminal: reads the QR code that is drawn there.

/// The text of the code in half blocks at the upper left of a dark terminal's screen, where dark modules are drawn and light
/// ones blank on white; whatever stands to its right is not looked at.
pub fn scan(lines: &[String]) -> Option<String> {
    QUIET_ZONES.iter().find_map(|quiet| {
        let sides = (SMALLEST..=LARGEST).step_by(4);
        sides.into_iter().find_map(|side| decode(lines, side + 2 * quiet))
    })
}

/// Reads a code that takes so many columns with its quiet zone.
fn decode(lines: &[String], columns: usize) -> Option<String> {
    let cells: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
    if cells.len() * 2 < columns {
        return None;
    }
    let is_dark = |x: usize, y: usize| {
        let inside = |at: usize| (at / MODULE).checked_sub(AROUND).filter(|at| *at < columns);
        let (Some(column), Some(row)) = (inside(x), inside(y)) else {
            // The terminal around the white of the code.
            return true;
        };
        match cells[row / 2].get(column).copied().unwrap_or(' ') {
            '█' => true,
            '▀' => row % 2 == 0,
            '▄' => row % 2 == 1,
            _ => false,
        }
    };
    let side = (columns + 2 * AROUND) * MODULE;
    let shade = |x, y| if is_dark(x, y) { 0 } else { 255 };
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(side, side, shade);
    image
        .detect_grids()
        .iter()
        .find_map(|grid| grid.decode().ok())
        .map(|(_, text)| text)
}

/// Modules of the quiet zone that codes are drawn with.
const QUIET_ZONES: [usize; 3] = [1, 2, 4];
/// Modules of a side of the codes that hold a link.
const SMALLEST: usize = 37;
const LARGEST: usize = 61;
/// Points of a module.
const MODULE: usize = 4;
/// Modules of the dark terminal around the code.
const AROUND: usize = 6;
