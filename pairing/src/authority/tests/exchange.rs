use super::{Pairing, audience};
use crate::testing::{HashSignatures, key, sign, token_key};
use crate::{
    ApproveTerms, Audience, Commit, CommitError, Exchange, ExchangeError, RejectCause, RequestPhase,
};
use crate::{ExchangeCheck, RequestSecret, Role, TailnetIdentity, pair_text};
use core::time::Duration;

#[test]
fn a_pairing_ends_with_the_whole_record_of_the_device() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let lifetime = Some(Duration::from_secs(60));
    let terms = ApproveTerms {
        role: Some(Role::Operator),
        expires_in: lifetime,
        ..ApproveTerms::default()
    };
    let approved = pairing
        .authority
        .approve(device.id(), terms, pairing.now, &mut pairing.rng)
        .unwrap();
    let record = pairing.complete(&device);
    assert_eq!((record.id, record.role), (approved.device_id, Role::Operator));
    assert_eq!((record.public_key, record.created), (Some(key(1)), pairing.now));
    assert_eq!(
        (record.label.as_str(), record.approved_from.as_str()),
        ("device 1", "192.0.2.1")
    );
    assert_eq!(record.expires_at, approved.grant.expires_at);
    assert_eq!((record.last_seen, record.last_address), (None, None));
}

#[test]
fn the_record_keeps_the_hash_of_the_token_that_was_given_out() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let exchanged = pairing.exchange(&device).unwrap();
    let Ok(Commit::New(record)) = pairing.prepare(&device, &exchanged.token) else {
        panic!("a new device")
    };
    assert!(record.token_hash.matches(&exchanged.token.hash(&token_key())));
    assert_eq!((exchanged.token.id(), exchanged.role), (record.id, record.role));
}

#[test]
fn there_is_no_token_before_the_yes_or_after_a_no() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    assert_eq!(pairing.exchange(&device).unwrap_err(), ExchangeError::NotApproved);
    pairing.authority.reject(device.id(), pairing.now).unwrap();
    assert_eq!(
        pairing.exchange(&device).unwrap_err(),
        ExchangeError::Rejected(RejectCause::Owner)
    );
}

#[test]
fn only_the_key_that_was_approved_gets_the_token() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    assert_eq!(
        pairing.exchange_as(&device, &key(2), &audience()).unwrap_err(),
        ExchangeError::BadSignature
    );
    assert!(pairing.exchange(&device).is_ok());
}

#[test]
fn a_signature_for_another_audience_is_worth_nothing_here() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let relay: Audience = "pin:sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        .parse()
        .unwrap();
    assert_eq!(
        pairing.exchange_as(&device, &key(1), &relay).unwrap_err(),
        ExchangeError::WrongAudience
    );
}

#[test]
fn a_signature_over_one_audience_does_not_pass_for_another() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let nonce = pairing.poll(&device).exchange_nonce.unwrap();
    let relay: Audience = "origin:https://evil.example".parse().unwrap();
    let signature = sign(
        key(1).as_bytes(),
        pair_text(device.id(), nonce.as_str(), &relay).as_bytes(),
    );
    let shown = Exchange {
        audience: &audience(),
        signature: &signature,
    };
    assert_eq!(
        pairing.exchange_signed(&device, shown).unwrap_err(),
        ExchangeError::BadSignature
    );
}

#[test]
fn a_signature_of_one_request_does_not_pass_for_another_of_the_same_key() {
    let mut pairing = Pairing::new();
    let one = pairing.approved(1);
    let two = pairing.begin_as(1, [2; 32], "elsewhere", None).unwrap();
    pairing.reveal(&two).unwrap();
    pairing.approve(&two).unwrap();
    let nonce = pairing.poll(&two).exchange_nonce.unwrap();
    let signature = sign(
        key(1).as_bytes(),
        pair_text(one.id(), nonce.as_str(), &audience()).as_bytes(),
    );
    let shown = Exchange {
        audience: &audience(),
        signature: &signature,
    };
    assert_eq!(
        pairing.exchange_signed(&two, shown).unwrap_err(),
        ExchangeError::BadSignature
    );
}

#[test]
fn an_exchange_needs_the_request_secret() {
    let mut pairing = Pairing::new();
    let mut device = pairing.approved(1);
    let guess = RequestSecret::generate(device.id(), &mut pairing.rng);
    let good = core::mem::replace(&mut device.requested.secret, guess);
    let shown = Exchange {
        audience: &audience(),
        signature: &[],
    };
    assert_eq!(
        pairing.exchange_signed(&device, shown).unwrap_err(),
        ExchangeError::UnknownRequest
    );
    device.requested.secret = good;
    assert!(pairing.exchange(&device).is_ok());
}

#[test]
fn asking_again_after_a_lost_answer_gives_a_token_that_works_and_kills_the_lost_one() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let lost = pairing.exchange(&device).unwrap().token;
    let kept = pairing.exchange(&device).unwrap().token;
    assert_eq!(lost.id(), kept.id());
    assert_eq!(
        pairing.prepare(&device, &lost).unwrap_err(),
        CommitError::UnknownToken
    );
    assert!(matches!(pairing.prepare(&device, &kept), Ok(Commit::New(_))));
}

#[test]
fn nothing_commits_before_the_exchange_or_with_another_devices_token() {
    let mut pairing = Pairing::new();
    let (one, two) = (pairing.approved(1), pairing.approved(2));
    let token = pairing.exchange(&two).unwrap().token;
    assert_eq!(
        pairing.prepare(&one, &token).unwrap_err(),
        CommitError::UnknownToken
    );
    pairing.exchange(&one).unwrap();
    assert_eq!(
        pairing.prepare(&one, &token).unwrap_err(),
        CommitError::UnknownToken
    );
    assert_eq!(pairing.phase(&one), RequestPhase::Exchanged);
}

#[test]
fn committing_again_with_the_same_token_says_which_device_it_is() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    assert!(matches!(pairing.prepare(&device, &token), Ok(Commit::New(_))));
    pairing.authority.committed(device.id(), pairing.now);
    assert!(matches!(pairing.prepare(&device, &token), Ok(Commit::Already(id)) if id == token.id()));
}

#[test]
fn two_commits_at_once_store_one_record() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    let Ok(Commit::New(first)) = pairing.prepare(&device, &token) else {
        panic!("a new device")
    };
    let Ok(Commit::New(second)) = pairing.prepare(&device, &token) else {
        panic!("the same device")
    };
    assert_eq!(first.id, second.id);
    assert!(first.token_hash.matches(&second.token_hash));
}

#[test]
fn while_the_record_is_being_stored_neither_exchange_nor_no_comes_in_between() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    assert_eq!(
        pairing.exchange(&device).unwrap_err(),
        ExchangeError::CommitUnderWay
    );
    assert!(pairing.authority.reject(device.id(), pairing.now).is_err());
    pairing.pass(121);
    pairing.authority.committed(device.id(), pairing.now);
    assert_eq!(pairing.phase(&device), RequestPhase::Committed);
    assert_eq!(
        pairing.exchange(&device).unwrap_err(),
        ExchangeError::AlreadyCommitted
    );
}

#[test]
fn a_commit_that_failed_to_be_stored_can_be_tried_again_or_given_up() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    pairing.authority.commit_failed(device.id());
    assert!(matches!(pairing.prepare(&device, &token), Ok(Commit::New(_))));
    pairing.authority.commit_failed(device.id());
    assert_eq!(pairing.authority.reject(device.id(), pairing.now), Ok(()));
}

#[test]
fn without_a_commit_by_the_deadline_there_is_no_device() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.pass(120);
    assert_eq!(
        pairing.prepare(&device, &token).unwrap_err(),
        CommitError::Expired
    );
    assert_eq!(pairing.exchange(&device).unwrap_err(), ExchangeError::Expired);
}

#[test]
fn a_yes_that_made_no_device_in_time_is_told_once_and_one_that_did_never() {
    let mut pairing = Pairing::new();
    let (paired, exchanged, approved) = (pairing.approved(1), pairing.approved(2), pairing.approved(3));
    pairing.complete(&paired);
    pairing.exchange(&exchanged).unwrap();
    let deadline = pairing.now.plus(Duration::from_secs(120));
    assert_eq!(pairing.authority.next_lapse(), Some(deadline));
    pairing.pass(119);
    assert!(pairing.authority.lapsed(pairing.now).is_empty());
    pairing.pass(1);
    let mut told = pairing.authority.lapsed(pairing.now);
    told.sort_unstable();
    let mut expected = [exchanged.id(), approved.id()];
    expected.sort_unstable();
    assert_eq!(told, expected);
    assert_eq!(pairing.authority.next_lapse(), None);
    assert!(pairing.authority.lapsed(pairing.now).is_empty());
}

#[test]
fn a_commit_on_its_way_to_the_store_at_the_deadline_lapses_only_if_it_fails() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    pairing.pass(120);
    assert_eq!(pairing.authority.next_lapse(), None);
    assert!(pairing.authority.lapsed(pairing.now).is_empty());
    pairing.authority.commit_failed(device.id());
    assert_eq!(pairing.authority.lapsed(pairing.now), [device.id()]);
}

#[test]
fn a_restart_forgets_offers_and_requests() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.authority = Pairing::new().authority;
    assert_eq!(
        pairing.prepare(&device, &token).unwrap_err(),
        CommitError::UnknownToken
    );
    assert!(pairing.authority.requests(pairing.now).is_empty());
}

#[test]
fn what_the_tailnet_said_of_the_first_word_is_stored_with_the_device() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    let evidence = TailnetIdentity {
        user_id: "u1".into(),
        user: "ada".into(),
        node_id: "n1".into(),
        node: "phone".into(),
        tags: [].into(),
    };
    pairing.authority.requests.get_mut(&device.id()).unwrap().tailnet = Some(evidence.clone());
    pairing.reveal(&device).unwrap();
    pairing.approve(&device).unwrap();
    assert_eq!(
        pairing.authority.requests(pairing.now)[0].tailnet.as_ref(),
        Some(&evidence)
    );
    assert_eq!(pairing.complete(&device).tailnet, Some(evidence));
}

#[test]
fn an_origin_is_accepted_as_well_as_a_pin_if_the_daemon_says_so() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let origin: Audience = "origin:https://localhost:9000".parse().unwrap();
    let nonce = pairing.poll(&device).exchange_nonce.unwrap();
    let signature = sign(
        key(1).as_bytes(),
        pair_text(device.id(), nonce.as_str(), &origin).as_bytes(),
    );
    let accepts =
        |shown: &Audience| matches!(shown, Audience::Origin(origin) if origin.host() == "localhost");
    let check = ExchangeCheck {
        verifier: &HashSignatures,
        accepts: &accepts,
        token_key: &token_key(),
    };
    let shown = Exchange {
        audience: &origin,
        signature: &signature,
    };
    let secret = &device.requested.secret;
    assert!(
        pairing
            .authority
            .exchange(device.id(), secret, shown, check, pairing.now, &mut pairing.rng)
            .is_ok()
    );
}
