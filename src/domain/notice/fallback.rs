//! What the fallback channel hears (spec: decision 5.9): what nobody else has, and the end of that.

use super::NoticeKind;

/// One event of an incident, the oldest first, as far as its notices have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub kind: NoticeKind,
    /// No channel took it, although there was time.
    pub untaken: bool,
    /// The fallback channel has it, or is being sent it.
    pub known: bool,
    /// It tells beginning and end in one.
    pub collapsed: bool,
}

/// Which events the fallback channel is to be sent, by their place in `events`, and as what.
///
/// Beginnings and changes of severity go there when nobody took them. An end goes there when the channel has
/// the beginning, or has it by now, or when the end tells the whole story; nothing else would ever say that
/// there was something.
pub fn for_fallback(events: &[Heard]) -> Vec<(usize, NoticeKind)> {
    let mut open = None;
    let mut told = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if event.known {
            open = Some(!event.kind.ends());
            continue;
        }
        let kind = match (event.kind.ends(), open) {
            (true, Some(true)) => event.kind,
            (true, _) if event.untaken && event.collapsed => event.kind,
            (true, _) => continue,
            (false, _) if !event.untaken => continue,
            (false, None) => NoticeKind::Opened,
            (false, Some(false)) => NoticeKind::Reopened,
            (false, Some(true)) => event.kind,
        };
        open = Some(!event.kind.ends());
        told.push((at, kind));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use NoticeKind::{Moved, Opened, Reopened, Resolved};
    use proptest::prelude::*;

    fn event(kind: NoticeKind, untaken: bool) -> Heard {
        Heard { kind, untaken, known: false, collapsed: false }
    }

    #[test]
    fn it_hears_what_nobody_took_and_the_end_of_that() {
        let taken = [event(Opened, false), event(Resolved, true)];
        assert_eq!(for_fallback(&taken), [], "somebody has the beginning");
        let open = [event(Opened, true)];
        assert_eq!(for_fallback(&open), [(0, Opened)]);
        let over = [event(Opened, true), event(Resolved, false)];
        assert_eq!(for_fallback(&over), [(0, Opened), (1, Resolved)], "at once, so that it is one");
        let risen = [event(Opened, false), event(Moved, true), event(Resolved, false)];
        assert_eq!(for_fallback(&risen), [(1, Opened), (2, Resolved)]);
    }

    #[test]
    fn what_it_has_it_is_not_told_again() {
        let known = Heard { known: true, ..event(Opened, true) };
        assert_eq!(for_fallback(&[known]), []);
        assert_eq!(for_fallback(&[known, event(Moved, true)]), [(1, Moved)]);
        let over = Heard { known: true, ..event(Resolved, true) };
        assert_eq!(for_fallback(&[known, over, event(Reopened, true)]), [(2, Reopened)]);
    }

    #[test]
    fn an_end_that_is_all_there_is_tells_the_whole_story() {
        let end = Heard { collapsed: true, ..event(Resolved, true) };
        let begin = Heard { untaken: false, ..event(Opened, false) };
        assert_eq!(for_fallback(&[begin, end]), [(1, Resolved)]);
    }

    proptest! {
        /// Asked again and again while events come and time passes, it hears each event at most once, begins
        /// before it ends, and is owed no end.
        #[test]
        fn beginnings_and_ends_pair(steps in prop::collection::vec((0..3_u8, any::<bool>()), 1..12)) {
            let mut events: Vec<Heard> = Vec::new();
            let mut heard: Vec<NoticeKind> = Vec::new();
            let mut open = false;
            for (what, untaken) in steps {
                let kind = match (open, what) {
                    (false, _) if events.is_empty() => Opened,
                    (false, _) => Reopened,
                    (true, 0) => Resolved,
                    (true, _) => Moved,
                };
                open = !kind.ends();
                events.push(event(kind, untaken));
                for (at, kind) in for_fallback(&events) {
                    prop_assert!(!events[at].known);
                    events[at].known = true;
                    heard.push(kind);
                }
            }
            let mut told = false;
            for kind in &heard {
                prop_assert_eq!(told, !kind.begins(), "{:?}", heard);
                told = !kind.ends();
            }
            prop_assert!(!told || open, "an end is owed: {heard:?}");
        }
    }
}
