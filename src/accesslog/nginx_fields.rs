//! What nginx's variables mean, whatever the format puts them into: a pasted `log_format`, keys of JSON,
//! `name=value` behind the combined format.

use super::{
    Reject,
    scan::{self, Unit},
    stamp::{self, Stamps},
    upstream::{self, Upstream},
};
use crate::domain::fleet::record::{Escape, Record, Text};

/// A variable that says something of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    RemoteAddr,
    ForwardedFor,
    RemoteUser,
    /// Any way to write a time.
    Time,
    /// Seconds since the epoch with decimals: wins over a time in whole seconds.
    Msec,
    Request,
    Method,
    Target,
    Status,
    Bytes,
    RequestTime,
    UserAgent,
    UpstreamAddr,
    UpstreamStatus,
    UpstreamTime,
    UpstreamConnect,
    UpstreamHeader,
    UpstreamLength,
    UpstreamReceived,
    Pool,
    Version,
}

/// A record while its fields come in, in any order.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a> {
    pub record: Record<'a>,
    pub upstream: Upstream<'a>,
    pub escape: Escape,
    time: Precision,
    forwarded: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Precision {
    #[default]
    None,
    Stamp,
    Millis,
}

impl Variable {
    /// By the name of nginx's variable, without the dollar. None for those that tell us nothing.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "remote_addr" | "binary_remote_addr" | "proxy_protocol_addr" | "the_real_ip" => {
                Self::RemoteAddr
            }
            "http_x_forwarded_for" | "proxy_add_x_forwarded_for" | "http_x_real_ip" => {
                Self::ForwardedFor
            }
            "remote_user" => Self::RemoteUser,
            "time_local" | "time_iso8601" => Self::Time,
            "msec" => Self::Msec,
            "request" => Self::Request,
            "request_method" => Self::Method,
            "request_uri" | "uri" | "document_uri" => Self::Target,
            "status" => Self::Status,
            "body_bytes_sent" | "bytes_sent" => Self::Bytes,
            "request_time" => Self::RequestTime,
            "http_user_agent" => Self::UserAgent,
            "upstream_addr" => Self::UpstreamAddr,
            "upstream_status" => Self::UpstreamStatus,
            "upstream_response_time" => Self::UpstreamTime,
            "upstream_connect_time" => Self::UpstreamConnect,
            "upstream_header_time" => Self::UpstreamHeader,
            "upstream_response_length" => Self::UpstreamLength,
            "upstream_bytes_received" => Self::UpstreamReceived,
            "proxy_upstream_name" | "proxy_host" => Self::Pool,
            "upstream_http_x_version" | "upstream_http_x_app_version" | "sent_http_x_version" => {
                Self::Version
            }
            _ => return None,
        })
    }

    /// Whether it says what the combined format does not.
    pub fn adds(self) -> bool {
        matches!(
            self,
            Self::RequestTime
                | Self::UpstreamAddr
                | Self::UpstreamStatus
                | Self::UpstreamTime
                | Self::UpstreamConnect
                | Self::UpstreamHeader
                | Self::UpstreamLength
                | Self::UpstreamReceived
                | Self::Pool
                | Self::Version
        )
    }

    /// By a key that somebody chose for the variable. Case, `_`, `-`, `.` and `@` do not matter.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        // What stands in nearly every line that has keys is found at once.
        Some(match key {
            b"rt" | b"request_time" => Self::RequestTime,
            b"upstream" | b"upstream_addr" => Self::UpstreamAddr,
            b"ust" | b"upstream_status" => Self::UpstreamStatus,
            b"urt" | b"upstream_response_time" => Self::UpstreamTime,
            b"uct" | b"upstream_connect_time" => Self::UpstreamConnect,
            b"status" => Self::Status,
            _ => return Self::of_any_key(key),
        })
    }

    fn of_any_key(key: &[u8]) -> Option<Self> {
        let mut plain = [0; 32];
        let mut length = 0;
        for byte in key {
            if !matches!(byte, b'_' | b'-' | b'.' | b'@' | b'$') {
                *plain.get_mut(length)? = byte.to_ascii_lowercase();
                length += 1;
            }
        }
        Some(match &plain[..length] {
            b"remoteaddr" | b"remote" | b"remoteip" | b"client" | b"clientip" | b"clientaddr"
            | b"ip" | b"addr" | b"sourceip" | b"srcip" => Self::RemoteAddr,
            b"httpxforwardedfor" | b"xforwardedfor" | b"xff" | b"forwardedfor" | b"realip"
            | b"xrealip" => Self::ForwardedFor,
            b"remoteuser" | b"user" | b"username" | b"userid" => Self::RemoteUser,
            b"time" | b"timelocal" | b"timeiso8601" | b"iso8601" | b"timestamp" | b"ts"
            | b"date" | b"datetime" | b"localtime" | b"eventtime" => Self::Time,
            b"msec" | b"epoch" | b"unixtime" | b"timemsec" | b"timestampmsec" => Self::Msec,
            b"request" | b"req" | b"requestline" => Self::Request,
            b"method" | b"requestmethod" | b"httpmethod" | b"verb" => Self::Method,
            b"uri" | b"requesturi" | b"url" | b"requesturl" | b"path" | b"requestpath"
            | b"target" | b"documenturi" => Self::Target,
            b"status" | b"statuscode" | b"httpstatus" | b"httpcode" | b"code" | b"responsecode"
            | b"responsestatus" | b"st" => Self::Status,
            b"bodybytessent" | b"bytessent" | b"bytes" | b"size" | b"bodybytes" | b"bodysent"
            | b"responsesize" | b"responsebytes" | b"bytesout" | b"sent" => Self::Bytes,
            b"requesttime" | b"rt" | b"duration" | b"elapsed" | b"took" | b"latency"
            | b"responsetime" | b"totaltime" | b"reqtime" => Self::RequestTime,
            b"httpuseragent" | b"useragent" | b"ua" | b"agent" => Self::UserAgent,
            b"upstreamaddr" | b"upstream" | b"up" | b"uaddr" | b"upaddr" | b"upstreamhost"
            | b"upstreamserver" | b"upstreamaddress" | b"backend" | b"backendaddr" => {
                Self::UpstreamAddr
            }
            b"upstreamstatus" | b"ust" | b"us" | b"ustatus" | b"upstatus" | b"upst"
            | b"backendstatus" => Self::UpstreamStatus,
            b"upstreamresponsetime"
            | b"urt"
            | b"uresptime"
            | b"upresptime"
            | b"upstreamtime"
            | b"uptime"
            | b"upt"
            | b"backendtime" => Self::UpstreamTime,
            b"upstreamconnecttime" | b"uct" | b"upconnecttime" | b"uconnecttime" => {
                Self::UpstreamConnect
            }
            b"upstreamheadertime" | b"uht" | b"upheadertime" | b"uheadertime" => {
                Self::UpstreamHeader
            }
            b"upstreamresponselength" | b"upstreamlength" | b"ulen" => Self::UpstreamLength,
            b"upstreambytesreceived" | b"ubytes" | b"ubr" => Self::UpstreamReceived,
            b"proxyupstreamname" | b"upstreamname" | b"proxyhost" | b"pool" | b"upstreampool" => {
                Self::Pool
            }
            b"version"
            | b"appversion"
            | b"xversion"
            | b"upstreamhttpxversion"
            | b"upstreamversion" => Self::Version,
            _ => return None,
        })
    }
}

impl<'a> Fields<'a> {
    /// Of a line that is escaped in this way.
    pub fn escaped(escape: Escape) -> Self {
        Self { escape, ..Self::default() }
    }

    /// Whether a time has come in.
    pub fn has_time(&self) -> bool {
        self.time != Precision::None
    }

    /// Takes one value, which may be absent.
    pub fn set(
        &mut self,
        variable: Variable,
        raw: &'a [u8],
        stamps: &mut Stamps,
    ) -> Result<(), Reject> {
        let Some(value) = scan::present(raw) else {
            // The empty request line of a connection that was closed is one all the same.
            if variable == Variable::Request && raw.is_empty() && self.escape != Escape::Json {
                upstream::take_request(&mut self.record, raw, self.escape);
            }
            return Ok(());
        };
        let text = Text { raw: value, escape: self.escape };
        let record = &mut self.record;
        match variable {
            Variable::RemoteAddr => record.client = upstream::client(value),
            Variable::ForwardedFor => self.forwarded = Some(value),
            Variable::RemoteUser => record.user = Some(text),
            Variable::Time => self.take_time(value, stamps)?,
            Variable::Msec => {
                record.end_us = stamp::epoch(value).ok_or(Reject("the time is no number"))?;
                self.time = Precision::Millis;
            }
            Variable::Request => upstream::take_request(record, value, self.escape),
            Variable::Method => record.method = Some(value),
            Variable::Target => record.target = Some(text),
            Variable::Status => record.status = scan::status(value)?,
            Variable::Bytes => record.bytes = scan::number(value),
            Variable::RequestTime => record.duration_us = scan::micros(value, Unit::Seconds),
            Variable::UserAgent => record.user_agent = Some(text),
            Variable::UpstreamAddr => self.upstream.addr = value,
            Variable::UpstreamStatus => self.upstream.status = value,
            Variable::UpstreamTime => self.upstream.response_time = value,
            Variable::UpstreamConnect => self.upstream.connect_time = value,
            Variable::UpstreamHeader => self.upstream.header_time = value,
            Variable::UpstreamLength => self.upstream.response_length = value,
            Variable::UpstreamReceived => self.upstream.bytes_received = value,
            Variable::Pool => record.pool = Some(value),
            Variable::Version => record.version = Some(text),
        }
        Ok(())
    }

    fn take_time(&mut self, value: &[u8], stamps: &mut Stamps) -> Result<(), Reject> {
        if self.time > Precision::Stamp {
            return Ok(());
        }
        self.record.end_us = stamps.any(value).ok_or(Reject("the time is in no known shape"))?;
        self.time = Precision::Stamp;
        Ok(())
    }

    /// The record. `named`: the format says who was asked.
    pub fn finish(mut self, named: bool) -> Record<'a> {
        let ended_empty = self.upstream.add_to(&mut self.record);
        if self.record.client.is_none() {
            self.record.client = self.forwarded.and_then(upstream::client);
        }
        upstream::attribute(&mut self.record, named, ended_empty);
        self.record
    }
}
