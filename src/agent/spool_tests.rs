use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::super::journal::{HEADER, Journal, Reader};
use super::*;
use crate::domain::observation::{Outcome, Phases};
use crate::domain::secret::Secret;

/// A folder of this test's own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quorate-spool-{}-{count}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn vault() -> Vault {
    Vault::new(&Secret::from("token"))
}

fn boot(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn open(scratch: &Scratch, number: u128) -> Spool {
    Spool::open(&scratch.0, vault(), 1 << 20, boot(number)).unwrap()
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + secs).unwrap()
}

fn result(text: &str) -> Kept {
    Kept {
        seq: 0,
        monitor: Uuid::from_u128(7),
        check_version: 1,
        kind: RunKind::Scheduled,
        more: false,
        started: Stamp { at_us: 5, kernel: Uuid::nil(), wall: at(0), wall_ahead_us: None },
        observation: Observation {
            outcome: Outcome::Pass,
            class: None,
            message: text.to_owned(),
            phases_us: Phases::default(),
            status: Some(200),
            http_version: None,
            address: None,
            size: None,
            hops: Vec::new(),
            certificate: None,
            assertions: Vec::new(),
            evidence: None,
        },
    }
}

fn append(spool: &mut Spool, count: usize) {
    for _ in 0..count {
        spool.append(result("one result")).1.unwrap();
    }
}

fn seqs(spool: &mut Spool, number: u128) -> Vec<i64> {
    spool.next(boot(number), 1_000, 1 << 30).iter().map(|kept| kept.seq).collect()
}

#[test]
fn results_come_in_order_until_they_are_settled() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 5);
    assert_eq!(spool.next(boot(1), 3, 1 << 20).len(), 3);
    assert_eq!(seqs(&mut spool, 1), [1, 2, 3, 4, 5], "asking settles nothing");
    spool.settle(boot(1), 2, at(0));
    assert_eq!((seqs(&mut spool, 1), spool.waiting()), (vec![3, 4, 5], 3));
    append(&mut spool, 1);
    spool.settle(boot(1), 5, at(0));
    assert_eq!((seqs(&mut spool, 1), spool.waiting()), (vec![6], 1));
    spool.settle(boot(1), 6, at(0));
    assert!(spool.waiting_boots().is_empty());
    assert_eq!((spool.waiting(), spool.dropped()), (0, 0));
}

#[test]
fn a_batch_ends_at_its_size_but_a_single_result_always_fits() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 4);
    let one = serde_json::to_vec(&result("one result")).unwrap().len();
    assert_eq!(spool.next(boot(1), 10, 2 * one + one / 2).len(), 2);
    assert_eq!(spool.next(boot(1), 10, 1).len(), 1);
}

#[test]
fn what_an_earlier_process_left_keeps_its_boot_and_its_sequences() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 4);
    spool.next(boot(1), 2, 1 << 20);
    spool.settle(boot(1), 2, at(0));
    drop(spool);
    let mut spool = open(&scratch, 2);
    append(&mut spool, 1);
    assert_eq!(spool.waiting_boots(), [boot(2), boot(1)], "the present first");
    assert_eq!((seqs(&mut spool, 1), seqs(&mut spool, 2)), (vec![3, 4], vec![1]));
    assert_eq!(spool.waiting(), 3);
}

#[test]
fn a_second_agent_is_told_that_the_folder_is_taken() {
    let scratch = Scratch::new();
    let _first = open(&scratch, 1);
    let second = Spool::open(&scratch.0, vault(), 1 << 20, boot(2));
    assert!(matches!(second, Err(SpoolError::InUse(_))));
}

#[test]
fn a_full_spool_drops_the_oldest_and_counts_them() {
    let scratch = Scratch::new();
    let mut spool = Spool::open(&scratch.0, vault(), 256 << 10, boot(1)).unwrap();
    append(&mut spool, 100);
    drop(spool);
    let mut spool = Spool::open(&scratch.0, vault(), 256 << 10, boot(2)).unwrap();
    for _ in 0..400 {
        spool.append(result(&"x".repeat(2_000))).1.unwrap();
        assert!(spool.bytes() <= 256 << 10);
    }
    assert!(seqs(&mut spool, 1).is_empty(), "the older boot went first");
    let left = seqs(&mut spool, 2);
    assert_eq!(left.last(), Some(&400));
    assert!(left.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(spool.dropped() as usize + left.len(), 500);
    assert_eq!(spool.waiting() as usize, left.len());
}

#[test]
fn what_the_coordinator_has_makes_room_before_anything_is_lost() {
    let scratch = Scratch::new();
    let mut spool = Spool::open(&scratch.0, vault(), 256 << 10, boot(1)).unwrap();
    for _ in 0..40 {
        for _ in 0..10 {
            spool.append(result(&"x".repeat(2_000))).1.unwrap();
        }
        let last = *seqs(&mut spool, 1).last().unwrap();
        spool.settle(boot(1), last, at(0));
    }
    assert_eq!((spool.dropped(), spool.waiting()), (0, 0));
    assert!(spool.bytes() > 100 << 10, "and what fits is kept");
}

#[test]
fn settled_results_are_kept_for_a_day_and_can_be_asked_for_again() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 6);
    seqs(&mut spool, 1);
    spool.settle(boot(1), 6, at(0));
    spool.expire(at(86_399));
    assert_eq!(spool.rewind(boot(1), 2).unwrap(), 4);
    assert_eq!(seqs(&mut spool, 1), [3, 4, 5, 6]);
    spool.settle(boot(1), 6, at(10));
    spool.expire(at(86_410));
    assert_eq!((spool.rewind(boot(1), 0).unwrap(), spool.bytes()), (0, 0));
    append(&mut spool, 1);
    assert_eq!(seqs(&mut spool, 1), [7], "and the sequence goes on");
}

#[test]
fn an_old_boot_goes_once_it_is_settled_and_a_day_old() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 2);
    drop(spool);
    let mut spool = open(&scratch, 2);
    seqs(&mut spool, 1);
    spool.settle(boot(1), 2, at(0));
    spool.expire(at(86_400));
    assert!(!scratch.0.join(boot(1).to_string()).exists());
    assert!(scratch.0.join(boot(2).to_string()).exists());
}

#[test]
fn a_report_that_was_set_aside_is_in_its_file_and_out_of_the_way() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 2);
    let bad = spool.next(boot(1), 1, 1 << 20).remove(0);
    let path = spool.set_aside(boot(1), &bad, at(0)).unwrap();
    assert_eq!(seqs(&mut spool, 1), [2]);
    let mut found = Vec::new();
    Journal::open(&path, &vault(), |record| found.push(record.plain)).unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Kept>(&found[0]).unwrap(), bad);
}

#[test]
fn results_of_another_token_are_left_alone() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 3);
    drop(spool);
    let other = Vault::new(&Secret::from("another"));
    let mut spool = Spool::open(&scratch.0, other, 1 << 20, boot(2)).unwrap();
    assert_eq!((spool.waiting(), seqs(&mut spool, 1)), (0, vec![]));
    spool.expire(at(1_000_000));
    drop(spool);
    let mut spool = open(&scratch, 3);
    assert_eq!(seqs(&mut spool, 1), [1, 2, 3], "with the first token they are there again");
}

#[test]
fn files_are_for_their_owner_and_hold_nothing_in_clear() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    spool.append(result("hunter2hunter2")).1.unwrap();
    let path = scratch.0.join(boot(1).to_string()).join("00000001.seg");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&scratch.0).unwrap().permissions().mode() & 0o777, 0o700);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
    assert_eq!(spool.unsynced().len(), 2, "the file and its folder");
    assert!(spool.unsynced().is_empty());
}

#[test]
fn damage_in_the_middle_loses_one_segment_and_not_the_rest() {
    let scratch = Scratch::new();
    let mut spool = Spool::open(&scratch.0, vault(), 1 << 20, boot(1)).unwrap();
    for _ in 0..90 {
        spool.append(result(&"x".repeat(2_000))).1.unwrap();
    }
    let path = scratch.0.join(boot(1).to_string()).join("00000002.seg");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let left = seqs(&mut spool, 1);
    assert_eq!((left.first(), left.last()), (Some(&1), Some(&90)));
    assert_eq!(left.len() + spool.dropped() as usize, 90);
    assert!((1..31).contains(&spool.dropped()));
    assert_eq!(spool.waiting() as usize, left.len());
    spool.settle(boot(1), 90, at(0));
    assert_eq!(spool.waiting(), 0);
}

#[test]
fn while_the_disk_refuses_results_wait_in_memory_in_order() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    let folder = scratch.0.join(boot(1).to_string());
    let aside = scratch.0.join("gone");
    fs::rename(&folder, &aside).unwrap();
    for _ in 0..3 {
        assert!(spool.append(result("kept in memory")).1.is_err());
    }
    assert_eq!((seqs(&mut spool, 1), spool.waiting()), (vec![1, 2, 3], 3));
    spool.settle(boot(1), 1, at(0));
    fs::rename(&aside, &folder).unwrap();
    append(&mut spool, 1);
    assert_eq!((seqs(&mut spool, 1), spool.dropped()), (vec![2, 3, 4], 0));
    assert!(spool.bytes() > HEADER, "all of them are on disk now");
}

#[test]
fn a_file_torn_at_any_byte_gives_every_whole_record_and_no_other() {
    let scratch = Scratch::new();
    let mut spool = open(&scratch, 1);
    append(&mut spool, 3);
    drop(spool);
    let path = scratch.0.join(boot(1).to_string()).join("00000001.seg");
    let whole = fs::read(&path).unwrap();
    let mut ends = vec![HEADER as usize];
    let mut reader = Reader::open(&path, boot(1), HEADER).unwrap();
    while let Some((_, end)) = reader.skim().unwrap() {
        ends.push(end as usize);
    }
    assert_eq!(ends.last(), Some(&whole.len()));
    let settled = path.with_file_name("settled");
    for cut in 0..=whole.len() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &whole[..cut]).unwrap();
        let _ = fs::remove_file(&settled);
        let mut spool = open(&scratch, 2);
        let expected = ends.iter().filter(|end| **end <= cut).count() as i64 - 1;
        let expected: Vec<i64> = (1..=expected).collect();
        assert_eq!(seqs(&mut spool, 1), expected, "cut at {cut}");
        assert_eq!(spool.waiting() as usize, expected.len());
        append(&mut spool, 1);
        assert_eq!(seqs(&mut spool, 2), [1], "and it goes on");
        drop(spool);
        fs::remove_dir_all(scratch.0.join(boot(2).to_string())).unwrap();
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize),
    Settle(usize),
    Restart,
    Kill(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1_usize..12).prop_map(Step::Append),
        (1_usize..9).prop_map(Step::Settle),
        Just(Step::Restart),
        (1_usize..120).prop_map(Step::Kill),
    ];
    proptest::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever the mixture of results, answers, restarts and kills: per boot in order, without gaps
    /// but where a kill tore the newest record, and nothing twice that was noted as settled.
    #[test]
    fn each_boot_is_delivered_in_order(steps in steps()) {
        let scratch = Scratch::new();
        let mut number = 1;
        let mut spool = open(&scratch, number);
        // Per boot: the sequences that must come next.
        let mut model: BTreeMap<u128, Vec<i64>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Append(count) => for _ in 0..count {
                    let (seq, written) = spool.append(result("r"));
                    prop_assert!(written.is_ok());
                    model.entry(number).or_default().push(seq);
                },
                Step::Settle(count) => for id in spool.waiting_boots() {
                    let found: Vec<i64> =
                        spool.next(id, count, 1 << 20).iter().map(|kept| kept.seq).collect();
                    let due = model.entry(id.as_u128()).or_default();
                    prop_assert_eq!(&due[..found.len()], &found[..]);
                    due.drain(..found.len());
                    if let Some(last) = found.last() {
                        spool.settle(id, *last, at(0));
                    }
                },
                Step::Restart | Step::Kill(_) => {
                    drop(spool);
                    let dir = scratch.0.join(boot(number).to_string());
                    let path = dir.join("00000001.seg");
                    if let (Step::Kill(tail), Ok(bytes)) = (&step, fs::read(&path)) {
                        // The last record was under way: a part of it is missing.
                        let keep = bytes.len() - tail;
                        fs::write(&path, &bytes[..keep]).unwrap();
                        let mut left = Vec::new();
                        Journal::open(&path, &vault(), |record| left.push(record.seq)).unwrap();
                        model.entry(number).or_default().retain(|seq| left.contains(seq));
                    }
                    number += 1;
                    spool = open(&scratch, number);
                }
            }
            let waiting: usize = model.values().map(Vec::len).sum();
            prop_assert_eq!(spool.waiting() as usize, waiting);
        }
        for (id, due) in model {
            prop_assert_eq!(seqs(&mut spool, id), due);
        }
    }
}
