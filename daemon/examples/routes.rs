//! Prints the table of routes that `cargo xtask gen` writes.

fn main() -> Result<(), server::openapi::NotDescribed> {
    print!("{}", daemon::openapi::table()?);
    Ok(())
}
