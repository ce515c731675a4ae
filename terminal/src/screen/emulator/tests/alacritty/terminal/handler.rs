//! What each sequence does: mostly what alacritty's terminal does with it.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::Column;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, Hyperlink, KeyboardModes,
    KeyboardModesApplyBehavior, LineClearMode, Mode, ModifyOtherKeys, NamedPrivateMode, PrivateMode, Rgb,
    StandardCharset, TabulationClearMode,
};
use unicode_width::UnicodeWidthChar;

use super::{Cells, Terminal, line};
use crate::screen::emulator::colours::Colours;
use crate::screen::keyboard::Keyboard;

/// Hands sequences on as they are.
macro_rules! hand_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name(&mut self, $($argument: $type),*) {
            self.term.$name($($argument),*);
        })*
    };
}

// Not handed on: the clipboard (OSC 52), which is neither read nor written, and the size in pixels, which nobody
// here knows.
impl Handler for Terminal {
    hand_on! {
        move_forward(columns: usize);
        move_backward(columns: usize);
        identify_terminal(intermediate: Option<char>);
        device_status(status: usize);
        backspace();
        carriage_return();
        scroll_down(rows: usize);
        insert_blank_lines(rows: usize);
        move_forward_tabs(count: u16);
        save_cursor_position();
        reverse_index();
        terminal_attribute(attribute: Attr);
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        report_mode(mode: Mode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        set_color(index: usize, colour: Rgb);
        reset_color(index: usize);
        decaln();
        text_area_size_chars();
        report_private_mode(mode: PrivateMode);
    }

    fn input(&mut self, character: char) {
        if !character.is_ascii() && character.width() == Some(0) && self.is_full_of_marks() {
            return;
        }
        self.last_character = Some(character);
        self.term.input(character);
        self.trim_history();
        if self.has(TermMode::INSERT) {
            self.mend_row(self.cursor().0);
        }
    }

    fn put_tab(&mut self, count: u16) {
        self.term.put_tab(count);
        self.trim_history();
    }

    fn linefeed(&mut self) {
        self.term.linefeed();
        self.trim_history();
    }

    fn newline(&mut self) {
        self.term.newline();
        self.trim_history();
    }

    fn scroll_up(&mut self, rows: usize) {
        self.term.scroll_up(rows);
        self.trim_history();
    }

    fn delete_lines(&mut self, rows: usize) {
        self.term.delete_lines(rows);
        self.trim_history();
    }

    fn goto(&mut self, line: i32, column: usize) {
        self.term.goto(line, column);
        self.keep_in_region();
    }

    fn goto_line(&mut self, line: i32) {
        self.goto(line, self.cursor().1);
    }

    fn goto_col(&mut self, column: usize) {
        self.move_to(self.cursor().0, column);
    }

    fn move_up(&mut self, rows: usize) {
        let (row, column, _) = self.cursor();
        self.move_to(row.saturating_sub(rows), column);
    }

    fn move_down(&mut self, rows: usize) {
        let (row, column, _) = self.cursor();
        self.move_to(row.saturating_add(rows), column);
    }

    fn move_up_and_cr(&mut self, rows: usize) {
        self.move_to(self.cursor().0.saturating_sub(rows), 0);
    }

    fn move_down_and_cr(&mut self, rows: usize) {
        self.move_to(self.cursor().0.saturating_add(rows), 0);
    }

    fn insert_blank(&mut self, count: usize) {
        self.term.insert_blank(count);
        self.mend_row(self.cursor().0);
    }

    fn delete_chars(&mut self, count: usize) {
        self.term
            .delete_chars(count.min(self.columns() - self.cursor().1));
        self.mend_row(self.cursor().0);
    }

    fn erase_chars(&mut self, count: usize) {
        self.term.erase_chars(count);
        let (row, column, _) = self.cursor();
        self.mend(row, column);
        self.mend(row, column.saturating_add(count).min(self.columns()));
    }

    fn clear_line(&mut self, mode: LineClearMode) {
        self.term.clear_line(mode);
        self.mend_around_cursor();
    }

    fn clear_screen(&mut self, mode: ClearMode) {
        if let ClearMode::Saved = mode {
            self.forget_history();
        }
        if let (ClearMode::Above, 1) = (&mode, self.cursor().0) {
            self.blank_row(0);
        }
        if let ClearMode::All = mode
            && !self.has(TermMode::ALT_SCREEN)
            && (0..self.rows()).all(|row| self.term.grid()[line(row)].is_clear())
        {
            (0..self.rows()).for_each(|row| self.blank_row(row));
            return;
        }
        self.term.clear_screen(mode);
        self.trim_history();
        self.mend_around_cursor();
    }

    fn move_backward_tabs(&mut self, count: u16) {
        let before = self.cursor().1;
        self.term.move_backward_tabs(count);
        let cursor = &mut self.term.grid_mut().cursor;
        cursor.input_needs_wrap &= cursor.point.column.0 == before;
    }

    fn restore_cursor_position(&mut self) {
        self.term.restore_cursor_position();
        self.keep_in_region();
    }

    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.rows();
        let bottom = bottom.unwrap_or(rows).min(rows);
        if top < bottom {
            self.region = (top - 1, bottom);
            self.term.set_scrolling_region(top, Some(bottom));
        }
    }

    fn set_horizontal_tabstop(&mut self) {
        let column = self.cursor().1;
        self.tabs[column] = true;
        self.term.set_horizontal_tabstop();
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        match mode {
            TabulationClearMode::Current => {
                let column = self.cursor().1;
                self.tabs[column] = false;
            }
            TabulationClearMode::All => self.tabs.fill(false),
        }
        self.term.clear_tabs(mode);
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.is_shifted = index == CharsetIndex::G1;
        self.term.set_active_charset(index);
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Unknown(mode) if KEPT_MODES.contains(&mode) && !self.kept_modes.contains(&mode) => {
                self.kept_modes.push(mode);
            }
            PrivateMode::Unknown(_) => {}
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) => self.show_alternate(),
            PrivateMode::Named(mode) => {
                self.note_mode(mode);
                self.term.set_private_mode(mode.into());
            }
        }
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Unknown(mode) => self.kept_modes.retain(|kept| *kept != mode),
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) => self.show_primary(),
            PrivateMode::Named(mode) => {
                self.note_mode(mode);
                self.term.unset_private_mode(mode.into());
            }
        }
    }

    fn reset_state(&mut self) {
        self.show_primary();
        self.forget_history();
        let (columns, rows) = (self.columns(), self.rows());
        *self = Self {
            forgotten: self.forgotten,
            last_character: self.last_character,
            ..Self::fresh(Cells { columns, rows }, self.replies.clone())
        };
    }

    fn set_cursor_style(&mut self, style: Option<CursorStyle>) {
        self.has_cursor_style = style.is_some();
        self.term.set_cursor_style(style);
    }

    fn set_cursor_shape(&mut self, shape: CursorShape) {
        self.has_cursor_style = true;
        self.term.set_cursor_shape(shape);
    }

    fn set_title(&mut self, title: Option<String>) {
        self.titles.set(title.as_deref().unwrap_or_default());
    }

    fn push_title(&mut self) {
        self.titles.push();
    }

    fn pop_title(&mut self) {
        self.titles.pop();
    }

    fn dynamic_color_sequence(&mut self, prefix: String, index: usize, terminator: &str) {
        let [r, g, b] = self.term.colors()[index]
            .map_or_else(|| Colours::default().get(index), |rgb| [rgb.r, rgb.g, rgb.b]);
        self.replies.answer(&format!(
            "\x1b]{prefix};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{terminator}"
        ));
    }

    fn set_hyperlink(&mut self, link: Option<Hyperlink>) {
        self.term.set_hyperlink(link.filter(is_usable));
    }

    fn report_keyboard_mode(&mut self) {
        self.replies.answer(&format!("\x1b[?{}u", self.keyboard.flags()));
    }

    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        self.keyboard.push(mode.bits());
        self.apply_keyboard();
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        self.keyboard.pop(count);
        self.apply_keyboard();
    }

    fn set_keyboard_mode(&mut self, mode: KeyboardModes, behaviour: KeyboardModesApplyBehavior) {
        let flags = self.keyboard.flags();
        self.keyboard.set(match behaviour {
            KeyboardModesApplyBehavior::Replace => mode.bits(),
            KeyboardModesApplyBehavior::Union => flags | mode.bits(),
            KeyboardModesApplyBehavior::Difference => flags & !mode.bits(),
        });
        self.apply_keyboard();
    }

    fn set_modify_other_keys(&mut self, mode: ModifyOtherKeys) {
        self.other_keys = match mode {
            ModifyOtherKeys::Reset => 0,
            ModifyOtherKeys::EnableExceptWellDefined => 1,
            ModifyOtherKeys::EnableAll => 2,
        };
    }

    fn report_modify_other_keys(&mut self) {
        self.replies.answer(&format!("\x1b[>4;{}m", self.other_keys));
    }
}

impl Terminal {
    /// Moves to a row of the screen. The terminal's own relative moves count the region twice in origin mode.
    fn move_to(&mut self, row: usize, column: usize) {
        let top = if self.has(TermMode::ORIGIN) {
            self.region.0
        } else {
            0
        };
        self.goto(line(row.min(self.rows() - 1)).0 - line(top).0, column);
    }

    fn blank_row(&mut self, row: usize) {
        let background = self.term.grid().cursor.template.bg;
        for column in 0..self.columns() {
            self.term.grid_mut()[line(row)][Column(column)] = background.into();
        }
    }

    fn note_mode(&mut self, mode: NamedPrivateMode) {
        match mode {
            NamedPrivateMode::BlinkingCursor => self.has_cursor_style = true,
            // Changing the width resets the region, whatever else it does.
            NamedPrivateMode::ColumnMode => {
                self.region = (0, self.rows());
                self.goto(0, 0);
            }
            _ => {}
        }
    }

    fn show_alternate(&mut self) {
        if !self.has(TermMode::ALT_SCREEN) {
            self.hidden_history = self.term.history_size();
            self.term.swap_alt();
            // What an earlier program saved on the alternate screen is no business of this one.
            let cursor = self.term.grid().cursor.clone();
            self.term.grid_mut().saved_cursor = cursor;
            self.swap_keyboards();
        }
    }

    fn show_primary(&mut self) {
        if self.has(TermMode::ALT_SCREEN) {
            self.term.swap_alt();
            self.swap_keyboards();
            self.other_keyboard = Keyboard::default();
            self.keep_in_region();
        }
    }

    fn swap_keyboards(&mut self) {
        std::mem::swap(&mut self.keyboard, &mut self.other_keyboard);
        self.apply_keyboard();
    }

    fn mend_around_cursor(&mut self) {
        let (row, column, _) = self.cursor();
        self.mend(row, column);
        self.mend(row, column + 1);
    }
}

/// Whether a link is short enough to be kept per cell and can be written again as it came.
fn is_usable(link: &Hyperlink) -> bool {
    let id = link.id.as_deref().unwrap_or_default();
    let has_control = |text: &str| text.contains(char::is_control);
    link.uri.len() <= MAX_URI && id.len() <= MAX_LINK_ID && !has_control(id) && !has_control(&link.uri)
}

/// Private modes that are kept for whoever attaches, without an effect on the screen: X10 mouse, reverse
/// wrap-around, the keypad, two encodings of the mouse.
const KEPT_MODES: [u16; 5] = [9, 45, 66, 1015, 1016];
/// Bytes of a link's address; what VTE's terminals take.
const MAX_URI: usize = 2_083;
/// Bytes of a link's id.
const MAX_LINK_ID: usize = 250;
