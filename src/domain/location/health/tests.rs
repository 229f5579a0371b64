use super::super::selfcheck::{Reference, SelfCheck};
use super::*;

const KEYS: [LocationKey; 5] =
    [LocationKey(1), LocationKey(2), LocationKey(3), LocationKey(4), LocationKey(5)];

/// Locations as they are looked at again and again.
struct World {
    places: Vec<Place>,
    now: Millis,
    log: Vec<(Millis, LocationKey, Happened)>,
    over: bool,
}

impl World {
    fn new(count: usize) -> Self {
        let place = |key: &LocationKey| Place {
            key: *key,
            health: Health::default(),
            evidence: Evidence { enabled: true, online: true, ..Evidence::default() },
        };
        let places = KEYS.iter().take(count).map(place).collect();
        Self { places, now: 0, log: Vec::new(), over: false }
    }

    fn evidence(&mut self, place: usize) -> &mut Evidence {
        &mut self.places[place].evidence
    }

    fn references(&mut self, place: usize, bad_rounds: u64) {
        let one = |ok| Reference { target: "a:1".into(), ok, message: String::new() };
        let ok = bad_rounds == 0;
        let targets = vec![one(ok), one(ok), one(true)];
        self.evidence(place).checks = vec![SelfCheck { round: 1, bad_rounds, targets }];
    }

    /// Looks every ten seconds for a time.
    fn pass(&mut self, seconds: Millis) {
        let end = self.now + seconds * 1_000;
        while self.now < end {
            self.now += 10_000;
            let found = look(&self.places, self.now);
            self.over = found.over_cap.is_some();
            self.log
                .extend(found.happened.iter().map(|(key, what)| (self.now / 1_000, *key, *what)));
            for (place, (_, health)) in self.places.iter_mut().zip(found.healths) {
                place.health = health;
            }
        }
    }

    fn aside(&self) -> Vec<i16> {
        let aside = self.places.iter().filter(|p| p.health.quarantined_since.is_some());
        aside.map(|p| p.key.0).collect()
    }
}

#[test]
fn two_bad_rounds_of_references_quarantine_and_one_does_not() {
    let mut world = World::new(5);
    world.references(0, 1);
    world.pass(60);
    assert_eq!(world.aside(), [0_i16; 0]);
    world.references(0, 2);
    world.pass(10);
    assert_eq!(world.aside(), [1]);
    assert_eq!(world.log, [(70, KEYS[0], Happened::Quarantined)]);
}

#[test]
fn disagreeing_on_half_of_at_least_five_monitors_quarantines() {
    for (against, of, aside) in [(2, 5, false), (3, 5, true), (4, 4, false), (5, 10, true)] {
        let mut world = World::new(3);
        (world.evidence(1).against, world.evidence(1).of) = (against, of);
        world.pass(10);
        assert_eq!(world.aside() == [2], aside, "{against} of {of}");
    }
}

#[test]
fn release_needs_five_clean_rounds_and_the_hold_and_a_repeat_is_held_twice_as_long() {
    let mut world = World::new(5);
    let mut held = Vec::new();
    for _ in 0..6 {
        world.references(0, 2);
        world.pass(600);
        let bad_until = world.now / 1_000;
        world.references(0, 0);
        world.pass(3_700);
        let (at, _, what) = *world.log.last().unwrap();
        assert_eq!(what, Happened::Released(Release::Clean));
        held.push((at - bad_until) / 60);
    }
    assert_eq!(held, [5, 10, 20, 40, 60, 60]);
    world.pass(24 * 3_600);
    world.references(0, 2);
    world.pass(10);
    world.references(0, 0);
    world.pass(300);
    assert_eq!(world.aside(), [0_i16; 0], "after a quiet day the hold is the first one again");
}

#[test]
fn one_bad_look_among_clean_rounds_begins_the_count_anew() {
    let mut world = World::new(5);
    world.references(0, 2);
    world.pass(10);
    world.references(0, 0);
    world.pass(290);
    world.references(0, 2);
    world.pass(10);
    world.references(0, 0);
    world.pass(290);
    assert_eq!(world.aside(), [1]);
    world.pass(20);
    assert_eq!(world.aside(), [0_i16; 0]);
}

#[test]
fn above_the_cap_nobody_is_quarantined_and_whoever_was_is_freed() {
    let mut world = World::new(5);
    world.references(0, 2);
    world.references(1, 2);
    world.pass(10);
    assert_eq!((world.aside(), world.over), (vec![1, 2], false));
    world.references(2, 2);
    world.pass(10);
    assert_eq!((world.aside(), world.over), (vec![], true));
    assert_eq!(
        world.log[2..],
        [
            (20, KEYS[0], Happened::Released(Release::OverCap)),
            (20, KEYS[1], Happened::Released(Release::OverCap)),
        ]
    );
    // The third is well again: after its hold the others are set aside once more.
    world.references(2, 0);
    world.pass(290);
    assert!(world.over, "a doubt lasts until its hold is over, so that this does not flicker");
    world.pass(10);
    assert_eq!((world.aside(), world.over), (vec![1, 2], false));
}

#[test]
fn with_two_locations_neither_is_set_aside() {
    let mut world = World::new(2);
    world.references(0, 2);
    world.pass(10);
    assert_eq!((world.aside(), world.over), (vec![], true));
}

#[test]
fn an_offline_location_gives_no_evidence_and_no_clean_round() {
    let mut world = World::new(5);
    world.references(0, 2);
    world.evidence(0).online = false;
    world.pass(60);
    assert_eq!(world.aside(), [0_i16; 0]);
    world.evidence(0).online = true;
    world.pass(10);
    world.references(0, 0);
    world.evidence(0).online = false;
    world.pass(3_600);
    assert_eq!(world.aside(), [1], "silence does not free it");
    world.evidence(0).online = true;
    world.pass(140);
    assert_eq!(world.aside(), [1]);
    world.pass(10);
    assert_eq!(world.aside(), [0_i16; 0]);
}

#[test]
fn by_hand_wins_either_way() {
    let mut world = World::new(5);
    world.references(0, 2);
    world.evidence(0).trust = Some(Trust::Believe);
    world.pass(10);
    assert_eq!(world.aside(), [0_i16; 0]);
    world.evidence(0).trust = None;
    world.pass(10);
    assert_eq!(world.aside(), [1]);
    world.evidence(0).trust = Some(Trust::Believe);
    world.pass(10);
    assert_eq!(world.log[1], (30, KEYS[0], Happened::Released(Release::Believed)));
    // Two that are distrusted leave no room for a third; alone they are nobody's mistake.
    let mut world = World::new(5);
    for place in [1, 2, 3] {
        world.evidence(place).trust = Some(Trust::Distrust);
    }
    world.pass(10);
    assert!(!world.over);
    world.references(0, 2);
    world.pass(10);
    assert_eq!((world.aside(), world.over), (vec![], true));
}

#[test]
fn a_location_that_is_switched_off_is_forgotten() {
    let mut world = World::new(5);
    world.references(0, 2);
    world.pass(10);
    world.evidence(0).enabled = false;
    world.pass(10);
    assert_eq!(world.log[1], (20, KEYS[0], Happened::Released(Release::Disabled)));
    assert_eq!(world.places[0].health.doubt, None);
}

proptest::proptest! {
    /// Whatever happens to whom: never more than the cap are quarantined, nobody while over it, nobody who
    /// is believed; and what `release_at` says is when it ends if nothing more is found.
    #[test]
    fn quarantine_keeps_within_its_bounds(
        steps in proptest::collection::vec((0_usize..5, 0_u8..6, 1_i64..30), 1..60),
    ) {
        let mut world = World::new(5);
        for (place, what, tens) in steps {
            match what {
                0 => world.references(place, 2),
                1 => world.references(place, 0),
                2 => world.evidence(place).online ^= true,
                3 => world.evidence(place).trust = Some(Trust::Believe),
                4 => world.evidence(place).trust = None,
                _ => (world.evidence(place).against, world.evidence(place).of) = (6, 10),
            }
            world.pass(tens * 10);
            let online = world.places.iter().filter(|p| p.evidence.online).count();
            let aside: Vec<&Place> =
                world.places.iter().filter(|p| p.health.quarantined_since.is_some()).collect();
            let present = aside.iter().filter(|p| p.evidence.online).count();
            proptest::prop_assert!(present <= quarantine_cap(online));
            proptest::prop_assert!(!world.over || aside.is_empty());
            proptest::prop_assert!(aside.iter().all(|p| p.evidence.trust.is_none() && p.health.doubt.is_some()));
        }
        for place in 0..5 {
            world.references(place, 0);
            let evidence = world.evidence(place);
            (evidence.online, evidence.against, evidence.trust) = (true, 0, None);
        }
        world.pass(10);
        let promised: Vec<Option<Millis>> =
            world.places.iter().map(|p| p.health.doubt.map(|d| d.release_at())).collect();
        for (place, at) in promised.into_iter().enumerate() {
            let Some(at) = at else { continue };
            let mut alone = World { places: world.places.clone(), now: world.now, log: Vec::new(), over: false };
            let whole = (at - alone.now).div_euclid(10_000) * 10;
            alone.pass(whole - 10);
            proptest::prop_assert!(alone.places[place].health.doubt.is_some());
            alone.pass(30);
            proptest::prop_assert!(alone.places[place].health.doubt.is_none());
        }
    }
}
