//! The web app: installing its packages, checking and building it.

use anyhow::Result;

use crate::{
    steps::{command, root, run},
    tools,
};

/// Builds the web app into `web/ui/dist`.
pub(crate) fn build() -> Result<()> {
    tools::require_build_tools()?;
    install(UI)?;
    npm(UI, &["run", "build"])
}

/// Types and unit tests of the web app.
pub(crate) fn check() -> Result<()> {
    npm(UI, &["run", "check"])?;
    npm(UI, &["test"])
}

/// Installs exactly what the lock file of a folder names.
pub(crate) fn install(folder: &str) -> Result<()> {
    npm(folder, &["ci", "--no-fund", "--no-audit"])
}

/// Runs npm in a folder of the workspace.
pub(crate) fn npm(folder: &str, arguments: &[&str]) -> Result<()> {
    run(command("npm", arguments).current_dir(root().join(folder)))
}

/// Where the app is.
pub(crate) const UI: &str = "web/ui";
