//! Which session was started from inside of which.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pairing::{Family, ResourceId};

/// The parents of sessions that have one. Those of forgotten sessions stay for a while: what was started from them is still a
/// descendant of theirs, and the news that they are gone is for their ancestors too.
#[derive(Debug, Default)]
pub(super) struct Lineage(Mutex<HashMap<ResourceId, ResourceId>>);

impl Lineage {
    /// Notes that `child` was started from inside of `parent`.
    pub(super) fn add(&self, child: ResourceId, parent: ResourceId) {
        self.parents().insert(child, parent);
    }

    /// From a session's parent up to the first that has none.
    pub(super) fn line_of(&self, session: &ResourceId) -> Vec<ResourceId> {
        let parents = self.parents();
        let mut line = Vec::new();
        let mut next = parents.get(session);
        // Records on disk may have been edited into a ring.
        while let Some(parent) = next.filter(|parent| !line.contains(*parent) && *parent != session) {
            line.push(parent.clone());
            next = parents.get(parent);
        }
        line
    }

    /// Forgets sessions that neither live nor have a descendant that does, if there are many.
    pub(super) fn prune(&self, living: impl Iterator<Item = ResourceId>) {
        let mut parents = self.parents();
        if parents.len() <= MANY {
            return;
        }
        let mut needed = HashSet::new();
        for mut session in living {
            while let Some(parent) = parents.get(&session)
                && needed.insert(session)
            {
                session = parent.clone();
            }
        }
        parents.retain(|session, _| needed.contains(session));
    }

    fn parents(&self) -> MutexGuard<'_, HashMap<ResourceId, ResourceId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Family for Lineage {
    fn descends(&self, resource: &ResourceId, ancestor: &ResourceId) -> bool {
        let parents = self.parents();
        let mut next = parents.get(resource);
        // Records on disk may have been edited into a ring.
        for _ in 0..parents.len() {
            match next {
                Some(parent) if parent == ancestor => return true,
                Some(parent) => next = parents.get(parent),
                None => return false,
            }
        }
        false
    }
}

/// Sessions with a parent, before those that nobody needs are forgotten.
const MANY: usize = 4096;

#[cfg(test)]
mod tests {
    use pairing::{Family, ResourceId};

    use super::{Lineage, MANY};

    fn id(number: usize) -> ResourceId {
        format!("ses_{number}").parse().unwrap()
    }

    fn chain(length: usize) -> Lineage {
        let lineage = Lineage::default();
        (0..length).for_each(|number| lineage.add(id(number + 1), id(number)));
        lineage
    }

    #[test]
    fn a_session_descends_from_all_that_lead_to_it_and_not_from_itself() {
        let lineage = chain(3);
        assert!(lineage.descends(&id(3), &id(0)) && lineage.descends(&id(1), &id(0)));
        assert!(!lineage.descends(&id(0), &id(3)) && !lineage.descends(&id(2), &id(2)));
        assert!(!lineage.descends(&id(9), &id(0)));
        assert_eq!(lineage.line_of(&id(3)), [id(2), id(1), id(0)]);
        assert!(lineage.line_of(&id(0)).is_empty());
    }

    #[test]
    fn a_ring_ends() {
        let lineage = chain(2);
        lineage.add(id(0), id(2));
        assert!(!lineage.descends(&id(1), &id(9)));
        assert_eq!(lineage.line_of(&id(1)), [id(0), id(2)]);
        lineage.prune([id(1)].into_iter());
    }

    #[test]
    fn what_leads_to_a_living_session_is_not_forgotten() {
        let lineage = chain(3);
        (0..=MANY).for_each(|number| lineage.add(id(10_000 + number), id(0)));
        lineage.prune([id(3)].into_iter());
        assert!(lineage.descends(&id(3), &id(0)));
        assert!(!lineage.descends(&id(10_000), &id(0)));
    }
}
