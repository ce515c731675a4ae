//! Makes cargo look at the built app again when it changes. It never runs npm: `cargo xtask web` does.

fn main() {
    // A folder that is missing counts as changed, so the first build of the app is noticed too.
    println!("cargo::rerun-if-changed=ui/dist");
}
