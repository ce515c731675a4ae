//! The web app, embedded: what Vite built into `ui/dist`, or nothing where that was not there at compile time.
//!
//! ```
//! if web::is_present() {
//!     let shell = web::asset(web::SHELL).unwrap();
//!     assert_eq!(shell.content_type, "text/html; charset=utf-8");
//!     assert!(!shell.immutable);
//! }
//! ```

use std::borrow::Cow;

use rust_embed::RustEmbed;

/// One file of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The bytes, as they were built.
    pub bytes: Cow<'static, [u8]>,
    /// The value of `Content-Encoding`, where the bytes are compressed.
    pub encoding: Option<&'static str>,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// Whether the name holds a hash of the content, so that it may be cached for ever.
    pub immutable: bool,
}

/// The path of the page that every screen of the app starts from.
pub const SHELL: &str = "index.html";

/// Whether the app was there when this crate was compiled.
pub fn is_present() -> bool {
    Dist::get(SHELL).is_some()
}

/// What tells this build of the app from every other; none where there is no app. Vite writes it into the page.
pub fn build() -> Option<String> {
    let shell = Dist::get(SHELL)?;
    let page = str::from_utf8(&shell.data).ok()?;
    let (_, rest) = page.split_once(BUILD)?;
    let (build, _) = rest.split_once('"')?;
    Some(build.to_owned())
}

/// The file at a path below the app's root, for example `assets/index-1a2b.js`, without a leading slash.
pub fn asset(path: &str) -> Option<Asset> {
    if path.ends_with(COMPRESSED) {
        return None;
    }
    let file = Dist::get(path)?;
    let immutable = path.starts_with(HASHED);
    Some(Asset {
        bytes: file.data,
        encoding: None,
        content_type: content_type(path),
        immutable,
    })
}

/// The same file compressed with Brotli (RFC 7932), for whoever accepts `br`. None where there is no such copy.
pub fn compressed(path: &str) -> Option<Asset> {
    let file = Dist::get(&format!("{path}{COMPRESSED}"))?;
    Some(Asset {
        bytes: file.data,
        encoding: Some("br"),
        ..asset(path)?
    })
}

/// Every path that [`asset`] knows.
pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    Dist::iter().filter(|path| !path.ends_with(COMPRESSED))
}

#[derive(RustEmbed)]
#[folder = "ui/dist"]
#[allow_missing = true]
struct Dist;

/// The kinds of file that the app consists of; a test fails when another one joins.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("webmanifest") => "application/manifest+json",
        _ => UNKNOWN,
    }
}

/// The folder whose names Vite makes from a hash of the content.
const HASHED: &str = "assets/";

/// What stands in the page before the build's name.
const BUILD: &str = "name=\"transom-build\" content=\"";

/// What Vite appends to the name of a compressed copy.
const COMPRESSED: &str = ".br";

const UNKNOWN: &str = "application/octet-stream";

#[cfg(test)]
mod tests {
    use super::{SHELL, UNKNOWN, asset, build, compressed, is_present, paths};

    #[test]
    fn every_file_of_the_app_has_a_known_type() {
        for path in paths() {
            assert_ne!(asset(&path).unwrap().content_type, UNKNOWN, "{path}");
        }
    }

    #[test]
    fn only_hashed_files_are_immutable() {
        for path in paths() {
            assert_eq!(
                asset(&path).unwrap().immutable,
                path.starts_with("assets/"),
                "{path}"
            );
        }
    }

    #[test]
    fn the_shell_loads_scripts_from_the_app_alone_and_has_none_inline() {
        if !is_present() {
            return;
        }
        let shell = String::from_utf8(asset(SHELL).unwrap().bytes.into_owned()).unwrap();
        for script in shell.split("<script").skip(1) {
            assert!(script.contains("src=\"/assets/"), "{script}");
        }
        assert!(!shell.contains("://"), "the shell names another origin");
    }

    #[test]
    fn the_build_has_a_name_wherever_there_is_an_app() {
        let build = build();
        assert_eq!(build.is_some(), is_present());
        assert!(
            build.is_none_or(|build| build.len() == 16 && build.bytes().all(|byte| byte.is_ascii_hexdigit()))
        );
    }

    #[test]
    fn the_first_load_is_at_most_200_kib_compressed() {
        // Icons are for the system that installs the app: no page asks for them.
        let loaded = paths().filter(|path| !path.starts_with("icons/"));
        let sizes = loaded.map(|path| compressed(&path).or_else(|| asset(&path)).unwrap().bytes.len());
        assert!(sizes.sum::<usize>() <= 200 * 1024);
    }

    #[test]
    fn a_compressed_copy_says_so_and_is_no_file_of_its_own() {
        for path in paths().filter(|path| path.starts_with("assets/")) {
            let copy = compressed(&path).unwrap();
            assert_eq!(copy.encoding, Some("br"));
            assert_eq!(copy.content_type, asset(&path).unwrap().content_type);
            assert_eq!(asset(&format!("{path}.br")), None);
        }
    }

    #[test]
    fn a_path_outside_the_app_is_nothing() {
        for path in [
            "",
            "/index.html",
            "../Cargo.toml",
            "assets",
            "assets/../index.html",
        ] {
            assert_eq!(asset(path), None, "{path:?}");
        }
    }
}
