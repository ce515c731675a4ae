//! Starting the node: Tailscale's crate, where it is built in.

#[cfg(feature = "tailnet-embedded")]
mod node;

use std::path::PathBuf;

use super::Starter;
use crate::config::NodeOptions;

/// Starts what `options` say, with its keys in the folder.
#[cfg(feature = "tailnet-embedded")]
pub(super) fn starter(options: NodeOptions, folder: PathBuf) -> Starter {
    let options = std::sync::Arc::new(options);
    Box::new(move || Box::pin(node::start(std::sync::Arc::clone(&options), folder.clone())))
}

/// Starts nothing: such a configuration is refused, and so is whoever finds a way around that.
#[cfg(not(feature = "tailnet-embedded"))]
pub(super) fn starter(_options: NodeOptions, _folder: PathBuf) -> Starter {
    Box::new(|| Box::pin(async { Err(super::NodeError(crate::config::NO_NODE.to_owned())) }))
}
