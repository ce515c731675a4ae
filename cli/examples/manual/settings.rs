//! `transom.toml(5)`, from the keys that the daemon knows.

use clap_mangen::roff::{Roff, bold, italic, roman};
use daemon::config::settings;

/// The page, as `man` reads it (man(7)).
pub(crate) fn page() -> String {
    let mut page = Roff::new();
    page.control("TH", ["TRANSOM.TOML", "5", "", VERSION, "Transom"]);
    section(&mut page, "NAME");
    page.text([roman("transom.toml - the configuration of the Transom daemon")]);
    section(&mut page, "SYNOPSIS");
    for path in PATHS {
        page.text([italic(*path)]);
        page.control("br", []);
    }
    section(&mut page, "DESCRIPTION");
    for paragraph in DESCRIPTION {
        page.text([roman(*paragraph)]);
        page.control("PP", []);
    }
    let mut former = "";
    for setting in settings() {
        let (table, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if table != former {
            section(&mut page, &format!("[{table}]"));
            former = table;
        }
        page.control("TP", []);
        page.text([bold(name), roman(" = "), roman(setting.default)]);
        page.text([roman(setting.meaning)]);
        page.control("br", []);
        page.text([roman("Environment: "), bold(setting.variable)]);
    }
    section(&mut page, "EXAMPLE");
    page.control("EX", []);
    for line in EXAMPLE.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
    section(&mut page, "SEE ALSO");
    page.text([
        bold("transom"),
        roman("(1), "),
        bold("transom-config-show"),
        roman("(1), "),
        bold("transom-reload"),
        roman("(1)"),
    ]);
    page.render()
}

fn section(page: &mut Roff, name: &str) {
    page.control("SH", [name]);
}

const VERSION: &str = concat!("transom ", env!("CARGO_PKG_VERSION"));

const PATHS: &[&str] = &[
    "$XDG_CONFIG_HOME/transom/config.toml",
    "~/.config/transom/config.toml",
    "$TRANSOM_DIR/config.toml",
];

const DESCRIPTION: &[&str] = &[
    "The daemon needs no configuration. Where there is a file, it is the one of the first of these places that is set, with \
     TRANSOM_DIR before all others; `transom config show` says which it is, and each value with where it came from.",
    "The file is TOML. A flag of `transom up` stands before the environment, that before the file, and that before the default. \
     In the environment, lists are written with commas, and texts without quotes. A key that is not known is an error, as is a value \
     that its key does not take: the daemon does not start then, with exit code 64, and one that runs goes on as before.",
    "A running daemon takes a changed file up by itself; `transom reload` does so at once, and says what changed and what, if \
     anything, only a restart does.",
    "Durations are written \"30s\", \"10m\", \"12h\" or \"90d\"; sizes \"64KiB\", \"2MiB\", \"1GiB\" or \"1TiB\".",
];

const EXAMPLE: &str = r#"[listen]
tls = ["127.0.0.1:7443", "tailnet:7443"]

[tailnet]
mode = "host"
allow = ["self"]

[pairing]
idle_expiry = "30d"
"#;
