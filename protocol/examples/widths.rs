//! Prints the table of widths that `cargo xtask gen` writes.

fn main() {
    print!("{}", protocol::typescript::widths());
}
