//! Server-sent events out of chunks of bytes, as the HTML standard reads them: any line ending, comments,
//! several data lines, a byte-order mark. Pure.

/// An event may hold so much; a set of a hundred thousand assignments is a tenth of that.
const MAX_EVENT: usize = 512 << 20;

/// Collects bytes until events are whole.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    begun: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `message` if the stream does not say.
    pub name: String,
    pub data: String,
}

/// The stream is not one that we can follow.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event on the stream is longer than 512 MiB")]
pub struct TooLong;

impl Parser {
    /// Takes the next bytes and gives the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = end.map_or(bytes, |end| &bytes[..end]);
            if self.line.len() + self.data.len() + part.len() > MAX_EVENT {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.take_line());
        }
        Ok(events)
    }

    fn take_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = &line[..];
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            // Comments, ids and retry hints: revisions resume the stream, our own patience paces it.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let name = if name.is_empty() { "message".to_owned() } else { name };
        let data = String::from_utf8(data);
        let data =
            data.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Some(Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = "\u{feff}event: set\r\ndata: {\"a\":1}\r\n\r\n: a comment\n\ndata:one\rdata:  two\r\rid: 7\nretry: 3\nevent:empty\n\nevent: ping\ndata\n\n";
        assert_eq!(
            Parser::default().push(text.as_bytes()),
            Ok(vec![event("set", "{\"a\":1}"), event("message", "one\n two"), event("ping", "")])
        );
    }

    proptest! {
        /// Where the network cuts the bytes makes no difference.
        #[test]
        fn chunks_make_no_difference(
            cuts in proptest::collection::vec(1_usize..9, 1..80),
            ends in proptest::collection::vec(0_usize..3, 1..20),
        ) {
            let mut text = String::new();
            for (at, end) in ends.iter().enumerate() {
                let end = ["\n", "\r", "\r\n"][*end];
                text += &format!("event: e{at}{end}data: one ü{end}:{end}data: two{end}{end}");
            }
            let whole = Parser::default().push(text.as_bytes()).unwrap();
            prop_assert_eq!(whole.len(), ends.len());
            let (mut parser, mut rest, mut found) = (Parser::default(), text.as_bytes(), Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                found.extend(parser.push(now).unwrap());
                rest = later;
            }
            prop_assert_eq!(found, whole);
        }
    }
}
