//! Prints the description of the API that `cargo xtask gen` writes.

fn main() -> Result<(), server::openapi::NotDescribed> {
    print!("{}", daemon::openapi::document()?);
    Ok(())
}
