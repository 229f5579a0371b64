//! The question, and what an answer to it says. Pure: bytes in, facts out. A message has at most 64 KiB, so an
//! answer has a few thousand records at most, each a line of text.

use std::str::FromStr;

use hickory_resolver::proto::op::{Edns, Header, Message, MessageType, OpCode, Query};
use hickory_resolver::proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_resolver::proto::serialize::binary::{BinDecodable, BinDecoder};

use crate::domain::assertion::rcode;

/// What we say we take over UDP; it passes everywhere without fragments (DNS Flag Day 2020).
const UDP_PAYLOAD: u16 = 1_232;

/// Aliases are followed so far; resolvers give up sooner.
const LONGEST_CHAIN: usize = 32;

/// One question, with the id that its answer must carry.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) id: u16,
    name: Name,
    kind: RecordType,
}

/// What bytes from the server's address are to a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Answer(Answer),
    /// The answer did not fit and was cut.
    Cut,
    /// The right id and question, but the rest is no message. The text says what is wrong.
    Unreadable(String),
    /// It belongs to another question, or is no answer at all.
    NotOurs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// By its name, in capitals.
    pub(super) rcode: String,
    /// Of the type that was asked for, at the end of the aliases, as text in the server's order.
    pub(super) records: Vec<String>,
    /// The names that the aliases lead to, the last one last.
    pub(super) chain: Vec<String>,
}

impl Question {
    /// `name` in wire form. The error says what is wrong with it.
    pub(super) fn new(id: u16, name: &str, kind: &str) -> Result<Self, String> {
        let mut name = Name::from_ascii(name).map_err(|error| error.to_string())?;
        name.set_fqdn(true);
        let kind = RecordType::from_str(kind).map_err(|error| error.to_string())?;
        Ok(Self { id, name, kind })
    }

    /// The message to send. Old servers do not know the extension `edns`.
    pub(super) fn bytes(&self, edns: bool) -> Result<Vec<u8>, String> {
        let mut message = Message::new(self.id, MessageType::Query, OpCode::Query);
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(self.name.clone(), self.kind));
        if edns {
            let mut extension = Edns::new();
            extension.set_max_payload(UDP_PAYLOAD);
            message.set_edns(extension);
        }
        message.to_vec().map_err(|error| error.to_string())
    }

    pub(super) fn read(&self, bytes: &[u8]) -> Reading {
        let mut decoder = BinDecoder::new(bytes);
        let Ok(header) = Header::read(&mut decoder) else { return Reading::NotOurs };
        let about = &header.metadata;
        if about.id != self.id
            || about.message_type != MessageType::Response
            || about.op_code != OpCode::Query
        {
            return Reading::NotOurs;
        }
        let code = u16::from(about.response_code);
        match header.counts.queries {
            1 => match Message::read_queries(&mut decoder, 1).as_deref() {
                Ok([query]) if self.is_asked_by(query) => {}
                _ => return Reading::NotOurs,
            },
            // A server that could not read the question cannot repeat it.
            0 if !matches!(code, 0 | 3) => {}
            _ => return Reading::NotOurs,
        }
        if about.truncation {
            return Reading::Cut;
        }
        let mut section = |count: u16, last: bool| {
            Message::read_records(&mut decoder, usize::from(count), last, OpCode::Query)
        };
        let answers = match section(header.counts.answers, false) {
            Ok((answers, ..)) => answers,
            Err(error) => return Reading::Unreadable(error.to_string()),
        };
        // Only the upper bits of the code are wanted of the rest, so it may be broken.
        let high = section(header.counts.authorities, false)
            .and_then(|_| section(header.counts.additionals, true))
            .ok()
            .and_then(|(_, edns, _)| edns)
            .map_or(0, |edns| edns.rcode_high());
        let (records, chain) = self.select(&answers);
        Reading::Answer(Answer { rcode: rcode::name(code | u16::from(high) << 4), records, chain })
    }

    fn is_asked_by(&self, query: &Query) -> bool {
        query.name() == &self.name
            && query.query_type() == self.kind
            && query.query_class() == DNSClass::IN
    }

    /// Goes along the aliases from the name that was asked for, and takes the records at their end.
    fn select(&self, answers: &[Record]) -> (Vec<String>, Vec<String>) {
        let mut at = &self.name;
        let mut chain = Vec::new();
        if self.kind != RecordType::CNAME {
            while let Some(next) = answers.iter().find_map(|record| match &record.data {
                RData::CNAME(target) if &record.name == at => Some(&target.0),
                _ => None,
            }) {
                at = next;
                chain.push(plain(next));
                if chain.len() >= LONGEST_CHAIN {
                    break;
                }
            }
        }
        let records = answers
            .iter()
            .filter(|record| {
                record.record_type() == self.kind
                    && record.dns_class == DNSClass::IN
                    && &record.name == at
            })
            .filter_map(|record| text(&record.data))
            .collect();
        (records, chain)
    }
}

/// A record as text: names in lower case without their last dot, texts joined.
fn text(data: &RData) -> Option<String> {
    Some(match data {
        RData::A(ip) => ip.to_string(),
        RData::AAAA(ip) => ip.to_string(),
        RData::CNAME(name) => plain(&name.0),
        RData::NS(name) => plain(&name.0),
        RData::PTR(name) => plain(&name.0),
        RData::MX(mx) => format!("{} {}", mx.preference, plain(&mx.exchange)),
        RData::SRV(srv) => {
            format!("{} {} {} {}", srv.priority, srv.weight, srv.port, plain(&srv.target))
        }
        RData::SOA(soa) => format!(
            "{} {} {} {} {} {} {}",
            plain(&soa.mname),
            plain(&soa.rname),
            soa.serial,
            soa.refresh,
            soa.retry,
            soa.expire,
            soa.minimum
        ),
        RData::CAA(caa) => format!(
            "{} {} \"{}\"",
            caa.flags(),
            caa.tag.to_ascii_lowercase(),
            String::from_utf8_lossy(&caa.value)
        ),
        RData::TXT(txt) => String::from_utf8_lossy(&txt.txt_data.concat()).into_owned(),
        _ => return None,
    })
}

fn plain(name: &Name) -> String {
    let text = name.to_ascii().to_ascii_lowercase();
    match text.strip_suffix('.') {
        Some(bare) if !bare.is_empty() => bare.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
