use proptest::prelude::*;

use super::*;

fn member(name: &str) -> Member {
    Member {
        name: name.into(),
        address: "192.0.2.1".into(),
        monitor: Uuid::from_u128(1),
        locations: None,
        weight: 1,
        partial_at: None,
    }
}

fn group(names: &[&str]) -> Group {
    Group {
        mode: Mode::Ordered,
        members: names.iter().map(|name| member(name)).collect(),
        min_members: None,
        return_after_s: None,
    }
}

fn seen(state: State) -> Option<Seen> {
    let down = u32::from(state == State::Down) * 3;
    Some(Seen { state, low: false, stale: false, counted: 3, down, bound: None })
}

fn served(group: &Group, answer: &Answer) -> Vec<String> {
    let members = group.members.iter().zip(&answer.members);
    members.filter(|(_, judged)| judged.serve).map(|(member, _)| member.name.clone()).collect()
}

fn ask(group: &Group, states: &[Option<Seen>]) -> Answer {
    look(group, states, &Standings::new(), &[], 1_000)
}

#[test]
fn only_down_takes_a_member_out() {
    let group = group(&["a", "b"]);
    let out = |state| ask(&group, &[seen(state), seen(State::Up)]).members[0].clone();
    assert!(!out(State::Down).serve);
    for state in
        [State::Up, State::Degraded, State::Partial, State::Unknown, State::Pending, State::Paused]
    {
        assert!(out(state).serve, "{state:?}");
    }
    let gone = ask(&group, &[None, seen(State::Up)]);
    assert_eq!((gone.members[0].serve, gone.members[0].reason), (true, Reason::NoMonitor));
    let stale = Seen { stale: true, ..seen(State::Down).unwrap() };
    let stale = ask(&group, &[Some(stale), seen(State::Up)]);
    assert_eq!((stale.members[0].serve, stale.members[0].reason), (true, Reason::Unknown));
    let low = Seen { low: true, ..seen(State::Down).unwrap() };
    let low = ask(&group, &[Some(low), seen(State::Up)]);
    assert_eq!((low.members[0].serve, low.members[0].reason), (true, Reason::LowConfidence));
}

#[test]
fn too_few_left_means_all_are_in() {
    let three = group(&["a", "b", "c"]);
    let (up, down) = (seen(State::Up), seen(State::Down));
    let one_down = ask(&three, &[down, up, up]);
    assert_eq!(
        (served(&three, &one_down), one_down.fail_open),
        (vec!["b".into(), "c".into()], false)
    );
    // Half of three is two.
    let two_down = ask(&three, &[down, down, up]);
    assert_eq!((served(&three, &two_down).len(), two_down.fail_open), (3, true));
    assert_eq!(two_down.members[0].reason, Reason::Down, "the reasons stay true");
    let bold = Group { min_members: Some(1), ..three.clone() };
    assert_eq!(served(&bold, &ask(&bold, &[down, down, up])), ["c"]);
    let none_down = Group { min_members: Some(0), ..three };
    let all_down = ask(&none_down, &[down, down, down]);
    assert_eq!((served(&none_down, &all_down).len(), all_down.fail_open), (0, false));
}

#[test]
fn partial_takes_out_from_its_threshold_on() {
    let mut group = group(&["a", "b"]);
    group.members[0].partial_at = Some(50);
    let partial = |down, counted| {
        Some(Seen { state: State::Partial, low: false, stale: false, counted, down, bound: None })
    };
    let serve = |seen| ask(&group, &[seen, super::tests::seen(State::Up)]).members[0].serve;
    assert!(serve(partial(1, 3)));
    assert!(!serve(partial(1, 2)));
    assert!(!serve(partial(2, 3)));
    let low = Seen { low: true, ..partial(2, 3).unwrap() };
    assert!(serve(Some(low)));
    assert!(serve(partial(0, 0)), "nobody counts");
}

#[test]
fn bound_locations_decide_by_most_of_those_that_are_heard() {
    let group = group(&["a", "b"]);
    let at = |bound, counted, down| {
        let seen =
            Seen { state: State::Up, low: false, stale: false, counted, down, bound: Some(bound) };
        ask(&group, &[Some(seen), self::seen(State::Up)]).members[0].reason
    };
    assert_eq!(at(1, 1, 1), Reason::Down);
    assert_eq!(at(1, 0, 0), Reason::Unknown);
    assert_eq!(at(3, 1, 1), Reason::Unknown, "one of three is not enough to know");
    assert_eq!(at(3, 2, 1), Reason::Partial);
    assert_eq!(at(3, 2, 2), Reason::Down);
    assert_eq!(at(2, 2, 0), Reason::Up);
}

#[test]
fn a_member_comes_back_after_its_hold_but_never_waits_on_what_is_unknown() {
    let group = Group { return_after_s: Some(60), ..group(&["a", "b"]) };
    let up = seen(State::Up);
    let step = |before: &Standings, state, now| look(&group, &[seen(state), up], before, &[], now);
    let out = step(&Standings::new(), State::Down, 0);
    assert_eq!(out.members[0].out_since, Some(0));
    let well = step(&out.standings, State::Up, 10_000);
    assert_eq!(
        (well.members[0].serve, well.members[0].reason, well.members[0].returns_at),
        (false, Reason::Returning, Some(70_000))
    );
    let still = step(&well.standings, State::Up, 69_999);
    assert!(!still.members[0].serve);
    let back = step(&still.standings, State::Up, 70_000);
    assert!(back.members[0].serve && back.standings.is_empty());
    // It fails once more meanwhile: the hold begins anew, the time since when it is out does not.
    let again = step(&well.standings, State::Down, 20_000);
    assert_eq!((again.members[0].out_since, again.members[0].returns_at), (Some(0), None));
    // Nobody knows: it is in at once.
    assert!(step(&well.standings, State::Unknown, 20_000).members[0].serve);
}

#[test]
fn somebodys_word_stands_until_it_ends() {
    let group = group(&["a", "b"]);
    let (up, down) = (seen(State::Up), seen(State::Down));
    let say = |serve, until| vec![Override { member: "a".into(), serve, until }];
    let ask = |states: &[Option<Seen>], said: &[Override]| {
        look(&group, states, &Standings::new(), said, 1_000)
    };
    assert_eq!(served(&group, &ask(&[up, up], &say(false, 2_000))), ["b"]);
    assert_eq!(served(&group, &ask(&[up, up], &say(false, 1_000))), ["a", "b"], "it is over");
    assert_eq!(served(&group, &ask(&[down, up], &say(true, 2_000))), ["a", "b"]);
    // What was taken out by hand stays out, even when too few are left.
    let last = ask(&[up, down], &say(false, 2_000));
    assert_eq!((served(&group, &last), last.fail_open), (vec!["b".into()], true));
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Group)| {
        let mut group = group(&["a", "b"]);
        change(&mut group);
        group.check().unwrap_err().field
    };
    assert_eq!(refused(&|g| g.members.clear()), "members");
    assert_eq!(refused(&|g| g.members[1].name = "a".into()), "members[1].name");
    assert_eq!(refused(&|g| g.members[1].name = "A b".into()), "members[1].name");
    assert_eq!(refused(&|g| g.members[0].address = " x".into()), "members[0].address");
    assert_eq!(refused(&|g| g.members[0].weight = 0), "members[0].weight");
    assert_eq!(refused(&|g| g.members[0].partial_at = Some(101)), "members[0].partial_at");
    assert_eq!(refused(&|g| g.members[0].locations = Some(vec![])), "members[0].locations");
    assert_eq!(refused(&|g| g.min_members = Some(3)), "min_members");
    assert_eq!(refused(&|g| g.return_after_s = Some(86_401)), "return_after_s");
    assert!(group(&["a"]).check().is_ok());
}

fn any_state() -> impl Strategy<Value = Option<Seen>> {
    let states = prop_oneof![
        Just(State::Pending),
        Just(State::Up),
        Just(State::Degraded),
        Just(State::Partial),
        Just(State::Down),
        Just(State::Unknown),
        Just(State::Paused),
    ];
    let known = (states, any::<(bool, bool)>(), 0..6_u32, prop::option::of(1..6_u32))
        .prop_flat_map(|(state, (low, stale), counted, bound)| {
            (0..=counted).prop_map(move |down| Seen { state, low, stale, counted, down, bound })
        });
    prop::option::weighted(0.9, known)
}

proptest! {
    /// Whatever is seen, never fewer are served than the group allows, and who is in without an override is
    /// in because nothing says that it is down, or because too few would be left.
    #[test]
    fn never_fewer_than_allowed(
        states in prop::collection::vec(any_state(), 1..8),
        min in prop::option::of(0..8_u16),
        hold in prop::option::of(0..100_u32),
        drained in prop::collection::vec(any::<bool>(), 8),
    ) {
        let names: Vec<String> = (0..states.len()).map(|i| format!("m{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut group = group(&names);
        group.min_members = min.map(|min| min.min(names.len() as u16));
        group.return_after_s = hold;
        let said: Vec<Override> = names
            .iter()
            .zip(&drained)
            .filter(|(_, out)| **out)
            .map(|(name, _)| Override { member: (*name).to_owned(), serve: false, until: 10 })
            .collect();
        let answer = look(&group, &states, &Standings::new(), &said, 5);
        let count = served(&group, &answer).len();
        prop_assert!(count >= usize::from(answer.min_members));
        for (judged, name) in answer.members.iter().zip(&names) {
            let by_hand = said.iter().any(|said| said.member == *name);
            if by_hand {
                prop_assert!(!judged.serve);
            } else if !judged.serve {
                prop_assert_eq!(judged.reason, Reason::Down);
                prop_assert!(!answer.fail_open);
            }
        }
    }
}
