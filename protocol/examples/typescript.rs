//! Prints the TypeScript that `cargo xtask gen` writes.

fn main() {
    print!("{}", protocol::typescript::typescript());
}
