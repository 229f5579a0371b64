//! Postgres' binary COPY format: header, per row a field count and length-prefixed values, trailer.

use jiff::Timestamp;
use sqlx::PgConnection;

/// Rows on their way into one COPY. Values are put in the order of the statement's columns.
#[derive(Debug)]
pub(super) struct Copy {
    out: Vec<u8>,
    fields: i16,
}

impl Copy {
    /// For rows of `fields` values; `bytes` is how large all of them may become.
    pub(super) fn new(fields: i16, bytes: usize) -> Self {
        let mut out = Vec::with_capacity(19 + bytes + 2);
        out.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
        out.extend_from_slice(&[0; 8]);
        Self { out, fields }
    }

    pub(super) fn row(&mut self) {
        self.out.extend_from_slice(&self.fields.to_be_bytes());
    }

    pub(super) fn instant(&mut self, at: Timestamp) {
        // Postgres counts microseconds from 2000-01-01.
        self.int8(Some(at.as_microsecond() - 946_684_800_000_000));
    }

    pub(super) fn int8(&mut self, value: Option<i64>) {
        match value {
            Some(v) => self.bytes(&v.to_be_bytes()),
            None => self.null(),
        }
    }

    pub(super) fn int4(&mut self, value: Option<i32>) {
        match value {
            Some(v) => self.bytes(&v.to_be_bytes()),
            None => self.null(),
        }
    }

    pub(super) fn int2(&mut self, value: Option<i16>) {
        match value {
            Some(v) => self.bytes(&v.to_be_bytes()),
            None => self.null(),
        }
    }

    /// Text, or bytea.
    pub(super) fn bytes(&mut self, value: &[u8]) {
        let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(value);
    }

    /// The text of a JSON value, for a jsonb.
    pub(super) fn json(&mut self, text: &[u8]) {
        let length = i32::try_from(text.len() + 1).unwrap_or(i32::MAX);
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.push(1); // the version of jsonb's own format
        self.out.extend_from_slice(text);
    }

    pub(super) fn null(&mut self) {
        self.out.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// Everything, with its trailer.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(&(-1_i16).to_be_bytes());
        self.out
    }

    pub(super) async fn send(self, conn: &mut PgConnection, statement: &str) -> sqlx::Result<()> {
        let mut copy = conn.copy_in_raw(statement).await?;
        copy.send(self.finish()).await?;
        copy.finish().await?;
        Ok(())
    }
}
