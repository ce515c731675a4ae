//! `tailnet.allow`: who may come over the tailnet.

use pairing::TailnetIdentity;
use server::WhoIsAnswer;

use crate::config::Allowed;

/// How far somebody may come. `owner` is the stable id of the user whom this machine's node belongs to, if it belongs to any and
/// that is known.
pub(super) fn judge(who: TailnetIdentity, allow: &[Allowed], owner: Option<&str>) -> WhoIsAnswer {
    // Who is known by the node alone, as every tagged one is, has no user.
    let has_user = who.tags.is_empty() && !who.user_id.is_empty();
    let is_listed = allow.iter().any(|allowed| match allowed {
        Allowed::Tag(tag) => who.tags.contains(tag),
        Allowed::Node(node) => *node == who.node_id,
        Allowed::Oneself => has_user && owner.is_some_and(|owner| owner == who.user_id),
        Allowed::Login(login) => has_user && login.is_of(&who),
    });
    match is_listed {
        true => WhoIsAnswer::Known(who),
        false if has_user => WhoIsAnswer::Unlisted(who),
        // Nobody is invited by login who has none.
        false => WhoIsAnswer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use pairing::TailnetIdentity;
    use server::WhoIsAnswer;

    use super::judge;
    use crate::config::Allowed;

    fn who(user_id: &str, user: &str, tags: &[&str]) -> TailnetIdentity {
        TailnetIdentity {
            user_id: user_id.to_owned(),
            user: user.to_owned(),
            node_id: "nPhone".to_owned(),
            node: "phone.tail1234.ts.net".to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        }
    }

    fn alice() -> TailnetIdentity {
        who("42", "alice@example.com", &[])
    }

    fn tag(tag: &str) -> Allowed {
        Allowed::Tag(tag.to_owned())
    }

    #[test]
    fn oneself_is_the_user_of_this_node_whatever_they_are_called() {
        let allow = [Allowed::Oneself];
        assert_eq!(judge(alice(), &allow, Some("42")), WhoIsAnswer::Known(alice()));
        for owner in [Some("43"), Some(""), None] {
            assert_eq!(
                judge(alice(), &allow, owner),
                WhoIsAnswer::Unlisted(alice()),
                "{owner:?}"
            );
        }
    }

    #[test]
    fn a_login_is_its_user_and_no_other() {
        let allow = [Allowed::Login("alice@example.com".parse().unwrap())];
        assert_eq!(judge(alice(), &allow, None), WhoIsAnswer::Known(alice()));
        let bob = who("43", "bob@example.com", &[]);
        assert_eq!(judge(bob.clone(), &allow, None), WhoIsAnswer::Unlisted(bob));
    }

    #[test]
    fn a_tagged_node_comes_by_its_tag_alone() {
        let ci = who("42", "alice@example.com", &["tag:ci", "tag:box"]);
        let by_user = [
            Allowed::Oneself,
            Allowed::Login("alice@example.com".parse().unwrap()),
        ];
        assert_eq!(judge(ci.clone(), &by_user, Some("42")), WhoIsAnswer::Refused);
        assert_eq!(
            judge(ci.clone(), &[tag("tag:phone")], Some("42")),
            WhoIsAnswer::Refused
        );
        assert_eq!(judge(ci.clone(), &[tag("tag:box")], None), WhoIsAnswer::Known(ci));
        // And who is not tagged has none.
        assert_eq!(
            judge(alice(), &[tag("tag:ci")], Some("42")),
            WhoIsAnswer::Unlisted(alice())
        );
    }

    #[test]
    fn an_empty_list_lets_nobody_come_and_a_node_of_nobody_is_never_oneself() {
        assert_eq!(judge(alice(), &[], Some("42")), WhoIsAnswer::Unlisted(alice()));
        let nobody = who("", "", &["tag:ci"]);
        assert_eq!(judge(nobody, &[Allowed::Oneself], Some("")), WhoIsAnswer::Refused);
    }
}
