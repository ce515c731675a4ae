//! Who holds a session's size, as pure rules.
//!
//! Candidates are writers at a terminal of their own, and pages whose person said "fit to this screen". The claim goes
//! to whoever wished for it last: a terminal by attaching, a page by saying so. One that becomes free goes to its
//! former holder if that is a candidate whose person sees the newest output, else to the newest such candidate.

/// The candidates for one session's size.
#[derive(Debug, Default)]
pub(super) struct Rules {
    members: Vec<Member>,
    holder: Option<u64>,
    /// Who held it before.
    former: Option<u64>,
}

/// A writer that could hold the claim.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its attachment.
    pub(super) number: u64,
    /// When it wished for the claim, or the client did whose connection it is: greater is later.
    pub(super) wish: u64,
    /// Who it is, in words.
    pub(super) by: String,
    /// What it can show, columns and rows.
    pub(super) size: Option<(u16, u16)>,
    /// Whether it wants the claim.
    pub(super) wants: bool,
    /// Whether its person sees the newest output.
    pub(super) sees: bool,
    /// Whether it was not heard of for too long.
    pub(super) is_silent: bool,
}

impl Member {
    fn is_candidate(&self) -> bool {
        self.wants && self.size.is_some() && !self.is_silent
    }
}

impl Rules {
    /// Adds one that has said nothing yet.
    pub(super) fn join(&mut self, member: Member) {
        self.members.push(member);
    }

    /// What one can show; the first time, it wishes for the claim if it wants it.
    pub(super) fn offer(&mut self, number: u64, size: (u16, u16)) {
        let Some(member) = self.member(number) else { return };
        let is_first = member.size.replace(size).is_none();
        let (wish, wants) = (member.wish, member.wants);
        let held = self.holder().map(|holder| holder.wish);
        if is_first && wants && held.is_none_or(|held| wish >= held) {
            self.give(number);
        }
        self.settle();
    }

    /// "Fit to this screen": takes the claim, with a wish that is later than all others.
    pub(super) fn claim(&mut self, number: u64, wish: u64) {
        let Some(member) = self.member(number) else { return };
        member.wants = true;
        member.wish = wish;
        if member.is_candidate() {
            self.give(number);
        }
    }

    /// Gives the claim back, and wants it no more.
    pub(super) fn yield_it(&mut self, number: u64) {
        if let Some(member) = self.member(number) {
            member.wants = false;
        }
        self.settle();
    }

    /// Whether one's person sees the newest output.
    pub(super) fn sees(&mut self, number: u64, sees: bool) {
        if let Some(member) = self.member(number) {
            member.sees = sees;
        }
        self.settle();
    }

    /// Whether one was not heard of for too long.
    pub(super) fn silent(&mut self, number: u64, is_silent: bool) {
        if let Some(member) = self.member(number) {
            member.is_silent = is_silent;
        }
        self.settle();
    }

    /// Removes one.
    pub(super) fn leave(&mut self, number: u64) {
        self.members.retain(|member| member.number != number);
        self.settle();
    }

    /// Who holds the claim.
    pub(super) fn holder(&self) -> Option<&Member> {
        let holder = self.holder?;
        self.members.iter().find(|member| member.number == holder)
    }

    /// Frees a claim whose holder is no candidate any more, and gives away a free one.
    fn settle(&mut self) {
        if self.holder().is_some_and(Member::is_candidate) {
            return;
        }
        let eligible = || {
            let members = self.members.iter();
            members.filter(|member| member.is_candidate() && member.sees)
        };
        let next = eligible()
            .find(|member| Some(member.number) == self.former)
            .or_else(|| eligible().max_by_key(|member| (member.wish, member.number)))
            .map(|member| member.number);
        self.former = self.holder.take().or(self.former);
        self.holder = next;
    }

    fn give(&mut self, number: u64) {
        if self.holder != Some(number) {
            self.former = self.holder.replace(number);
        }
    }

    fn member(&mut self, number: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Rules};

    fn member(number: u64, wants: bool) -> Member {
        Member {
            number,
            wish: number,
            by: format!("number {number}"),
            size: None,
            wants,
            sees: true,
            is_silent: false,
        }
    }

    /// Terminals 1 to `count`, in the order in which they came.
    fn terminals(count: u64) -> Rules {
        let mut rules = Rules::default();
        for number in 1..=count {
            rules.join(member(number, true));
            rules.offer(number, (80, 24));
        }
        rules
    }

    fn holder(rules: &Rules) -> Option<u64> {
        rules.holder().map(|holder| holder.number)
    }

    #[test]
    fn the_newest_terminal_holds_it_and_the_former_gets_it_back() {
        let mut rules = terminals(3);
        assert_eq!(holder(&rules), Some(3));
        rules.offer(1, (100, 30));
        assert_eq!(holder(&rules), Some(3), "a new size is no new wish");
        rules.leave(3);
        assert_eq!(holder(&rules), Some(2));
        rules.leave(2);
        assert_eq!(holder(&rules), Some(1));
        rules.leave(1);
        assert_eq!(holder(&rules), None);
    }

    #[test]
    fn a_page_holds_it_only_once_its_person_said_so() {
        let mut rules = terminals(1);
        rules.join(member(2, false));
        rules.offer(2, (40, 20));
        assert_eq!(holder(&rules), Some(1));
        rules.claim(2, 10);
        assert_eq!(holder(&rules), Some(2));
        rules.yield_it(2);
        assert_eq!(holder(&rules), Some(1));
        rules.leave(1);
        assert_eq!(holder(&rules), None, "who gave it back does not get it again");
    }

    #[test]
    fn a_page_that_claims_before_it_knows_its_size_gets_it_with_the_size() {
        let mut rules = terminals(1);
        rules.join(member(2, false));
        rules.claim(2, 10);
        assert_eq!(holder(&rules), Some(1));
        rules.offer(2, (40, 20));
        assert_eq!(holder(&rules), Some(2));
    }

    #[test]
    fn a_terminal_that_comes_after_a_page_claimed_is_newer() {
        let mut rules = terminals(1);
        rules.join(member(2, false));
        rules.offer(2, (40, 20));
        rules.claim(2, 3);
        rules.join(member(4, true));
        rules.offer(4, (80, 24));
        assert_eq!(holder(&rules), Some(4));
    }

    #[test]
    fn a_client_that_comes_back_takes_it_only_from_who_wished_earlier() {
        let mut rules = terminals(2);
        let mut back = member(9, true);
        back.wish = 1;
        rules.leave(1);
        rules.join(back);
        rules.offer(9, (100, 30));
        assert_eq!(holder(&rules), Some(2));
        let mut newest = member(10, true);
        newest.wish = 2;
        rules.join(newest);
        rules.offer(10, (90, 20));
        assert_eq!(
            holder(&rules),
            Some(10),
            "its own former connection does not keep it"
        );
    }

    #[test]
    fn a_silent_holder_loses_it_and_a_free_one_comes_back_to_it() {
        let mut rules = terminals(2);
        rules.silent(2, true);
        assert_eq!(holder(&rules), Some(1));
        rules.silent(2, false);
        assert_eq!(holder(&rules), Some(1), "it is not taken back without a word");
        rules.silent(1, true);
        assert_eq!(holder(&rules), Some(2));
        rules.silent(2, true);
        assert_eq!(holder(&rules), None);
        rules.silent(1, false);
        assert_eq!(holder(&rules), Some(1));
    }

    #[test]
    fn a_free_claim_goes_to_nobody_who_does_not_see_the_newest_output() {
        let mut rules = terminals(3);
        rules.sees(2, false);
        rules.leave(3);
        assert_eq!(holder(&rules), Some(1));
        rules.sees(2, true);
        assert_eq!(holder(&rules), Some(1));
        rules.sees(2, false);
        rules.leave(1);
        assert_eq!(holder(&rules), None);
        rules.sees(2, true);
        assert_eq!(holder(&rules), Some(2));
    }
}
