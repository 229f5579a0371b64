use proptest::prelude::*;

use super::*;

fn question(kind: &str) -> Question {
    Question::new(0x1234, "shop.example", kind).unwrap()
}

/// Labels on the wire.
fn wire(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&[0, 1, 0, 0, 0, 60]);
    bytes.extend_from_slice(&(data.len() as u16).to_be_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// An answer with these flags, the question for `shop.example`, and these records.
fn message(flags: [u8; 2], kind: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0x12, 0x34, flags[0], flags[1], 0, 1, 0, records.len() as u8, 0, 0, 0, 0];
    bytes.extend_from_slice(&wire("shop.example"));
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&[0, 1]);
    bytes.extend(records.iter().flatten());
    bytes
}

const FINE: [u8; 2] = [0x81, 0x80];
/// Points to the question's name.
const OWNER: [u8; 2] = [0xc0, 12];

fn records(kind: &str, number: u16, data: &[&[u8]]) -> Vec<String> {
    let all: Vec<_> = data.iter().map(|data| record(&OWNER, number, data)).collect();
    match question(kind).read(&message(FINE, number, &all)) {
        Reading::Answer(answer) => answer.records,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_type_is_a_line_of_text() {
    let mail = [&[0u8, 10][..], &wire("Mail.Example")].concat();
    let srv = [&[0u8, 1, 0, 2, 0x13, 0xc4][..], &wire("SIP.example")].concat();
    let soa = [wire("NS1.example"), wire("host.example"), 7u32.to_be_bytes().repeat(5)].concat();
    let mut caa = vec![128, 5];
    caa.extend_from_slice(b"ISSUEca.test; a=B");
    assert_eq!(records("A", 1, &[&[192, 0, 2, 1], &[192, 0, 2, 2]]), ["192.0.2.1", "192.0.2.2"]);
    assert_eq!(
        records("AAAA", 28, &[&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]]),
        ["2001:db8::1"]
    );
    assert_eq!(records("MX", 15, &[&mail, &[0, 0, 0]]), ["10 mail.example", "0 ."]);
    assert_eq!(records("SRV", 33, &[&srv]), ["1 2 5060 sip.example"]);
    assert_eq!(records("SOA", 6, &[&soa]), ["ns1.example host.example 7 7 7 7 7"]);
    assert_eq!(records("CAA", 257, &[&caa]), ["128 issue \"ca.test; a=B\""]);
    assert_eq!(records("TXT", 16, &[b"\x04v=sp\x07f1 -All", b"\x00"]), ["v=spf1 -All", ""]);
    for (kind, number) in [("NS", 2), ("PTR", 12), ("CNAME", 5)] {
        assert_eq!(records(kind, number, &[&wire("Other.Example")]), ["other.example"]);
    }
}

#[test]
fn aliases_are_followed_and_strangers_records_left_out() {
    let all = [
        record(&wire("b.test"), 1, &[192, 0, 2, 7]),
        record(&wire("a.test"), 5, &wire("B.test")),
        record(&wire("stranger.test"), 1, &[6, 6, 6, 6]),
        record(&OWNER, 5, &wire("a.test")),
    ];
    let Reading::Answer(answer) = question("A").read(&message(FINE, 1, &all)) else { panic!() };
    assert_eq!(
        (answer.records, answer.chain),
        (vec!["192.0.2.7".into()], vec!["a.test".into(), "b.test".into()])
    );
    // In a circle they end.
    let circle = [record(&OWNER, 5, &wire("a.test")), record(&wire("a.test"), 5, &OWNER)];
    let Reading::Answer(answer) = question("A").read(&message(FINE, 1, &circle)) else { panic!() };
    assert_eq!((answer.records.len(), answer.chain.len()), (0, LONGEST_CHAIN));
}

#[test]
fn only_answers_to_this_question_are_ours() {
    let good = message(FINE, 1, &[record(&OWNER, 1, &[192, 0, 2, 1])]);
    let ask = question("A");
    assert!(matches!(ask.read(&good), Reading::Answer(_)));
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        ask.read(&bytes)
    };
    assert_eq!(changed(0, 0x13), Reading::NotOurs, "id");
    assert_eq!(changed(2, 0x01), Reading::NotOurs, "a question");
    assert_eq!(changed(13, b'x'), Reading::NotOurs, "another name");
    assert_eq!(changed(27, 28), Reading::NotOurs, "another type");
    assert_eq!(changed(29, 3), Reading::NotOurs, "another class");
    assert_eq!(changed(5, 2), Reading::NotOurs, "two questions");
    assert_eq!(changed(2, 0x83), Reading::Cut);
    // Names do not differ by case.
    assert!(matches!(changed(13, b'S'), Reading::Answer(_)));
    assert_eq!(ask.read(b""), Reading::NotOurs);
    assert_eq!(ask.read(&good[..11]), Reading::NotOurs);
    let refused = [0x12, 0x34, 0x81, 0x85, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(matches!(ask.read(&refused), Reading::Answer(answer) if answer.rcode == "REFUSED"));
    assert_eq!(ask.read(&[0x12, 0x34, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 0, 0]), Reading::NotOurs);
}

#[test]
fn what_breaks_off_or_turns_in_circles_is_unreadable() {
    let good = message(FINE, 1, &[record(&OWNER, 1, &[192, 0, 2, 1])]);
    for end in 30..good.len() {
        assert!(matches!(question("A").read(&good[..end]), Reading::Unreadable(_)), "{end}");
    }
    // A name that points to itself: 30 bytes are before it.
    let mut circle = message(FINE, 5, &[record(&OWNER, 5, &[0xc0, 42])]);
    assert_eq!(circle.len(), 44);
    assert!(matches!(question("CNAME").read(&circle), Reading::Unreadable(_)));
    circle[43] = 200;
    assert!(matches!(question("CNAME").read(&circle), Reading::Unreadable(_)));
}

#[test]
fn codes_have_their_upper_bits_in_the_extension() {
    let mut bytes = message(FINE, 1, &[]);
    bytes[11] = 1;
    bytes.extend_from_slice(&[0, 0, 41, 4, 0xd0, 1, 0, 0, 0, 0, 0]);
    let Reading::Answer(answer) = question("A").read(&bytes) else { panic!() };
    assert_eq!(answer.rcode, "BADVERS");
    // A broken rest costs nothing.
    bytes.truncate(bytes.len() - 4);
    assert!(
        matches!(question("A").read(&bytes), Reading::Answer(answer) if answer.rcode == "NOERROR")
    );
}

#[test]
fn questions_ask_for_recursion() {
    let bytes = question("MX").bytes(false).unwrap();
    assert_eq!(
        bytes,
        [&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &wire("shop.example"), &[0, 15, 0, 1]]
            .concat()
    );
    let extended = question("MX").bytes(true).unwrap();
    assert_eq!(extended.len(), bytes.len() + 11);
    assert!(Question::new(1, "_sip._tcp.example", "SRV").is_ok());
    assert_eq!(Question::new(1, ".", "NS").unwrap().bytes(false).unwrap().len(), 17);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for kind in ["A", "MX", "SOA", "CAA", "TXT"] {
            let _ = question(kind).read(&bytes);
            // With the right head they get as far as they can.
            let mut ours = message(FINE, 1, &[]);
            ours[7] = 9;
            ours[9] = 3;
            ours[11] = 3;
            ours.extend_from_slice(&bytes);
            let _ = question(kind).read(&ours);
        }
    }

    #[test]
    fn changed_answers_stay_within_limits(
        at in 0usize..200,
        byte in any::<u8>(),
        more in proptest::collection::vec((0usize..200, any::<u8>()), 0..6),
    ) {
        let mail = [&[0u8, 10][..], &wire("mail.example")].concat();
        let mut bytes = message(FINE, 15, &[
            record(&OWNER, 5, &wire("a.test")),
            record(&wire("a.test"), 15, &mail),
            record(&wire("a.test"), 15, &mail),
        ]);
        for (at, byte) in more.into_iter().chain([(at, byte)]) {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        if let Reading::Answer(answer) = question("MX").read(&bytes) {
            prop_assert!(answer.records.len() <= 3 && answer.chain.len() <= LONGEST_CHAIN);
            // A name has 255 bytes at most, each up to four characters.
            prop_assert!(answer.records.iter().all(|text| text.len() < 1_100));
        }
    }
}
