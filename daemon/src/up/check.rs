//! Whether a daemon would start, looked at before one ends for it.

use std::{path::PathBuf, time::Duration};

use server::store::{Look, OlderStore, StoreError};
use tokio::time::timeout;

use super::{UpError, UpOptions};
use crate::{certificates, config::Config, paths::Paths, tasks};

/// Whether a daemon with these options would take what is configured and stored, as far as that can be told while another serves.
///
/// # Errors
/// What would keep it from starting; also that the disk does not say so in time.
pub async fn check(options: &UpOptions) -> Result<(), UpError> {
    let paths = Paths::find(options.dir.as_deref())?;
    let (flags, older) = (options.flags(), options.older_store());
    let look = move |paths: &Paths| {
        configuration(paths, &flags)?;
        store(paths, older)
    };
    let folder = paths.state.clone();
    in_time(folder, tasks::blocking(move || look(&paths))).await
}

/// The configuration with which a daemon would start, if its certificate can be used too.
///
/// # Errors
/// As [`check`].
pub(crate) fn configuration(paths: &Paths, flags: &[(&'static str, String)]) -> Result<Config, UpError> {
    let (config, _) = Config::load(&paths.config, flags)?;
    match certificates::read_own(&config, certificates::now()) {
        Err(error) if !error.is_of_time() => Err(error.into()),
        Ok(_) | Err(_) => Ok(config),
    }
}

/// Whether a daemon could open the store, which another may have open meanwhile; where there is none it makes one.
///
/// # Errors
/// As [`Store::open_with`](server::store::Store::open_with).
pub(crate) fn store(paths: &Paths, older: OlderStore) -> Result<(), UpError> {
    match (Look::at(&paths.store(), &paths.keys()), older) {
        (Ok(_), _) => Ok(()),
        // That it cannot be looked at keeps no daemon from opening it.
        (Err(StoreError::Copy(_)), _) => Ok(()),
        (Err(StoreError::Older { .. } | StoreError::Missing { .. }), OlderStore::Accepted) => Ok(()),
        (Err(error), _) => Err(error.into()),
    }
}

/// What a look at the files in this folder says. One that hangs goes on by itself, and whatever it says later counts for nothing.
///
/// # Errors
/// Those of the look, and [`UpError::Hangs`] where it takes longer than [`LOOK`].
pub(crate) async fn in_time<E: From<UpError>>(
    folder: PathBuf,
    look: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    let looked = timeout(LOOK, look).await;
    looked.unwrap_or_else(|_| Err(UpError::Hangs { folder }.into()))
}

/// How long a look may take: a cold disk reads the largest store within it.
const LOOK: Duration = Duration::from_secs(5);
