//! The remote listeners while the server serves: a lock-down closes them, its end opens them, and a reload changes them.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use pairing::Generation;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    task::{AbortHandle, Id, JoinSet},
};

use crate::{edge::Edge, listen::Listener, lockdown::Order, reload::DoorChange, shutdown::Stop};

/// The listeners that accept, and the orders about them.
pub(super) struct Remote<'a> {
    accepting: JoinSet<()>,
    running: Vec<Running>,
    orders: Option<UnboundedReceiver<Order>>,
    edge: &'a Arc<Edge>,
    stop: &'a Stop,
}

/// A listener that accepts.
struct Running {
    at: Option<SocketAddr>,
    /// What the next stream that it accepts belongs to.
    current: Arc<AtomicU64>,
    /// Every one that it has had.
    generations: Vec<Generation>,
    task: AbortHandle,
}

impl<'a> Remote<'a> {
    pub(super) fn open(listeners: Vec<Listener>, edge: &'a Arc<Edge>, stop: &'a Stop) -> Self {
        let mut remote = Self {
            accepting: JoinSet::new(),
            running: Vec::new(),
            orders: edge.access.lockdown.orders(),
            edge,
            stop,
        };
        remote.accept(listeners);
        remote
    }

    /// Does what is ordered; returns where a listener's task ended on its own.
    pub(super) async fn run(&mut self) {
        loop {
            tokio::select! {
                biased;
                Some(_) = self.accepting.join_next() => return,
                Some(order) = next(&mut self.orders) => match order {
                    Order::Close(done) => {
                        self.close_all().await;
                        done.send(()).ok();
                    }
                    Order::Open(listeners) => self.accept(listeners),
                    Order::Change(change, done) => {
                        let Some(ended) = self.change(change).await else { return };
                        done.send(ended).ok();
                    }
                },
                else => std::future::pending().await,
            }
        }
    }

    /// Whoever still orders something is told that nobody serves any more.
    pub(super) fn hear_no_more(&mut self) {
        self.orders = None;
    }

    /// Stops accepting.
    pub(super) async fn close_all(&mut self) {
        self.running.clear();
        self.accepting.shutdown().await;
    }

    fn accept(&mut self, listeners: Vec<Listener>) {
        for listener in listeners {
            let at = listener.address();
            let generation = self.edge.access.next_generation();
            let current = Arc::new(AtomicU64::new(generation.0));
            let running = listener.run(Arc::clone(self.edge), Arc::clone(&current), self.stop.clone());
            self.running.push(Running {
                at,
                current,
                generations: vec![generation],
                task: self.accepting.spawn(running),
            });
        }
    }

    /// Opens what is new before it closes what is old; says which generations have ended. None where a listener's task ended on
    /// its own.
    async fn change(&mut self, change: DoorChange) -> Option<Vec<Generation>> {
        self.accept(change.open);
        for running in &mut self.running {
            if running.at.is_some_and(|at| change.renew.contains(&at)) {
                let generation = self.edge.access.next_generation();
                running.current.store(generation.0, Ordering::Release);
                running.generations.push(generation);
            }
        }
        let goes = |running: &mut Running| running.at.is_some_and(|at| change.close.contains(&at));
        let closing: Vec<Running> = self.running.extract_if(.., goes).collect();
        closing.iter().for_each(|running| running.task.abort());
        let mut tasks: Vec<Id> = closing.iter().map(|running| running.task.id()).collect();
        while !tasks.is_empty() {
            let joined = self.accepting.join_next_with_id().await?;
            let id = joined.map_or_else(|error| error.id(), |(id, ())| id);
            let place = tasks.iter().position(|task| *task == id)?;
            tasks.swap_remove(place);
        }
        Some(
            closing
                .into_iter()
                .flat_map(|running| running.generations)
                .collect(),
        )
    }
}

async fn next(orders: &mut Option<UnboundedReceiver<Order>>) -> Option<Order> {
    match orders {
        Some(orders) => orders.recv().await,
        None => None,
    }
}
