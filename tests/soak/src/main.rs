//! `cargo xtask soak`: everything at once, for a while, against a model that knows what must be true.
//!
//! Each lane acts by a script of its own, drawn from the one seed: the same seed is the same script. What a machine's timing
//! makes of it differs, so what is checked holds whatever the order.

mod finish;
mod lanes;
mod numbers;
mod storm;
mod world;

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use harness::raise_descriptors;

use crate::{
    storm::Storm,
    world::{Fault, World},
};

/// A seeded storm of everything at once.
#[derive(Parser)]
#[command(name = "soak")]
struct Arguments {
    /// How long it lasts.
    #[arg(long, value_parser = minutes)]
    minutes: f64,
    /// Draws the same script again; without it the clock gives one.
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(from_the_clock);
    println!("seed {seed}, {} min", arguments.minutes);
    raise_descriptors();
    let storm = Storm::prepare().await;
    // What the harness panics with is judged where it is caught.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(why) = &storm.no_disk {
        println!("no disk is filled: {why}");
    }
    let (world, folder, disk) = (storm.world.clone(), storm.folder.clone(), storm.disk.clone());
    let outcome = storm
        .rage(seed, Duration::from_secs_f64(arguments.minutes * 60.0))
        .await;
    report(&world);
    let Err(fault) = outcome else {
        println!("nothing was broken");
        return ExitCode::SUCCESS;
    };
    let why = match fault {
        Fault::Broken(why) | Fault::Unexpected(why) => why,
        Fault::Disturbed => "the daemon was disturbed before the storm began".to_owned(),
    };
    println!("\nBROKEN: {why}\n\nthe last acts:");
    for told in world.told() {
        println!("  {told}");
    }
    println!("\nseed {seed}");
    println!(
        "the daemon's directory is kept: {0}, its log in {0}/log",
        folder.path().display()
    );
    if disk.is_some() {
        println!("it is a mount: `umount` it when done");
    }
    // Neither is removed by its drop.
    std::mem::forget((folder, disk));
    ExitCode::FAILURE
}

fn report(world: &Arc<World>) {
    println!("\nwhat was done and checked:");
    for (what, count) in world.counts() {
        println!("{count:>12}  {what}");
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("{error}"))?;
    match (0.0..1e6).contains(&minutes) {
        true => Ok(minutes),
        false => Err("it lasts some minutes, and no less than none".to_owned()),
    }
}

fn from_the_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::from(now.subsec_nanos()))
}
